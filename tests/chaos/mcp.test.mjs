// A worker dies while a call is at an MCP server: another one continues, and no call that has an effect runs twice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startServer } from '../fakes/mcp.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { llmOf } from '../e2e/support/conversation.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import { KILLED_STATUS, RUN_MS, assertWhole, expireLeases, finish, leaseOf, startAlone, startWorker, takenOver } from './support.mjs';

/** Where the worker dies, how often the server then gets the call in all, and whether its result is known. */
const POINTS = [
  ['action_committed:1', 'once', 1, true],
  ['server_call_noted:1', 'once', 0, false],
  ['server_call_noted:1', 'again', 1, true],
  ['server_call_answered:1', 'once', 1, false],
  ['server_call_answered:1', 'again', 2, true],
  ['obs_before_commit:1', 'once', 1, false],
  ['obs_commit_sent:1', 'once', 1, undefined],
  ['obs_committed:1', 'once', 1, true],
];
const TOOLS = [{ name: 'once', description: 'Has an effect.' }, { name: 'again', description: 'Can be repeated.', annotations: { idempotentHint: true } }];

const answer = ({ name }) => ({ content: [{ type: 'text', text: `result of ${name}` }] });

let fake;
let server;

before(async () => {
  fake = await startModel();
  server = await startServer({ tools: TOOLS, call: answer });
});

after(async () => {
  await start('worker');
  await fake.close();
  await server.close();
});

/** A run whose worker dies at that point, and which another one ends. more: of the agent. */
async function runWithADeath(t, point, scenario, more = {}) {
  const doomed = await startWorker(t, { DEFT_CRASH_AT: point });
  const agent = { kind: 'Agent', llm: llmOf(fake, scenario), tools: [], mcp_config: { one: { url: `${server.url}/mcp` } }, ...more };
  const conversation = await startAlone(t, fake, scenario, { agent });
  await conversation.say('Do it.', true);
  assert.equal((await within(doomed.ended, `the worker dies at ${point}`)).code, KILLED_STATUS, doomed.log);
  const lease = await leaseOf(conversation);
  await expireLeases(conversation);
  const heir = await startWorker(t);
  await takenOver(conversation, lease);
  assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
  return { conversation, heir };
}

for (const [point, tool, nCalls, isKnown] of POINTS) {
  test(`a call of a tool that runs ${tool} ends well when a worker dies at ${point}`, async (t) => {
    const scenario = `${point}-${tool}`;
    fake.setScenario(scenario, [{ calls: [{ name: tool, arguments: {} }] }, { calls: [finish('survived')] }]);
    stop('worker');
    server.requests.length = 0;
    const { conversation, heir } = await runWithADeath(t, point, scenario);
    assert.equal(server.requests.filter(({ message }) => message?.method === 'tools/call').length, nCalls);
    const results = (await conversation.events()).filter(({ kind, tool_name: name }) => name === tool && kind !== 'ActionEvent');
    assert.equal(results.length, 1);
    const [{ kind, error, observation }] = results;
    if (isKnown ?? kind === 'ObservationEvent') assert.deepEqual(observation.content.map(({ text }) => text), [`[Tool '${tool}' executed.]`, `result of ${tool}`]);
    else assert.match(error, /may have run it, so it was not sent again/);
    await assertWhole(conversation);
    await heir.stop();
  });
}

/** Where the worker dies with both calls of an answer under way, how often the server may then get each, and whether the result of `once` is known. */
const PAIRS = [
  ['server_call_noted:2', { once: [0, 1], again: [1, 2] }, false],
  ['server_call_answered:1', { once: [1, 1], again: [1, 2] }, false],
  ['obs_committed:1', { once: [1, 1], again: [1, 2] }, undefined],
  ['obs_committed:2', { once: [1, 1], again: [1, 1] }, true],
];

for (const [point, nCalls, isKnown] of PAIRS) {
  for (const names of [['once', 'again'], ['again', 'once']]) {
    test(`calls that run at once (${names}) end well when a worker dies at ${point}`, async (t) => {
      const scenario = `pair-${point}-${names}`;
      fake.setScenario(scenario, [{ calls: names.map((name) => ({ name, arguments: {} })) }, { calls: [finish('survived')] }]);
      stop('worker');
      server.requests.length = 0;
      const callsOf = (name) => server.requests.filter(({ message }) => message?.method === 'tools/call' && message.params.name === name).length;
      if (!point.includes('noted')) {
        let meet;
        const together = new Promise((resolve) => { meet = resolve; });
        server.offer.call = (params) => {
          if (names.every(callsOf)) meet();
          return together.then(() => answer(params));
        };
      }
      t.after(() => { server.offer.call = answer; });
      const { conversation, heir } = await runWithADeath(t, point, scenario, { tool_concurrency_limit: 2 });
      for (const [name, [least, most]] of Object.entries(nCalls)) assert.ok(callsOf(name) >= least && callsOf(name) <= most, `${name}: ${callsOf(name)}`);
      const events = await conversation.events();
      for (const name of names) {
        const results = events.filter(({ kind, tool_name: tool }) => tool === name && kind !== 'ActionEvent');
        assert.equal(results.length, 1);
        const [{ kind, error, observation }] = results;
        if (name === 'again' || (isKnown ?? kind === 'ObservationEvent')) assert.equal(observation.content[1].text, `result of ${name}`);
        else assert.match(error, /may have run it, so it was not sent again/);
      }
      await assertWhole(conversation);
      await heir.stop();
    });
  }
}
