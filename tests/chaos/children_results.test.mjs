// A worker dies while a conversation takes the results of two sub-agents that ran at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isResult, observed } from '../e2e/support/conversation.mjs';
import { finish } from './support.mjs';
import { delegate, script, survive, testTasks } from './two_sub_agents.mjs';

testTasks({
  'claim_committed:4': 'the first one has ended and the caller is claimed again',
  'obs_before_commit:3': 'the first result is read',
  'obs_committed:2': 'the first result is stored',
  'wait_before_commit:2': 'the caller is about to wait for the second one',
  'wait_committed:2': 'the caller waits for the second one',
});

const DELEGATE_POINTS = {
  'child_committed:1': 'the first one has its work',
  'wait_committed:1': 'the caller waits',
  'wait_before_commit:2': 'the first one has ended',
  'wait_committed:2': 'the caller waits for the second one',
};
for (const [point, what] of Object.entries(DELEGATE_POINTS)) {
  test(`a call of delegate gets both answers once, even if a worker dies when ${what}`, async (t) => {
    const name = `delegates-${point}`;
    script(name, [
      { calls: [delegate({ command: 'spawn', ids: ['a', 'b'] })] },
      { calls: [delegate({ command: 'delegate', tasks: { a: 'the first part', b: 'the second part' } })] },
      { calls: [finish('handed on')] },
    ]);
    const parent = await survive(t, name, point, ['delegate']);
    const results = (await parent.events()).filter(isResult('delegate'));
    assert.equal(results.length, 2);
    assert.equal(observed(results[1]), '[Sub-agent: a, status: completed]\nthe first is done\n\n[Sub-agent: b, status: completed]\nthe second is done');
  });
}
