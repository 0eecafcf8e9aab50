// OpenHands' own page, used as by a person: from its first start to a conversation that is loaded again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must } from '../e2e/support/api.mjs';
import { at, canvas, key, LONG, MODEL, open, page, shown, started, talked } from './canvas_person.mjs';

test('agent-server 63: the first start: consent, agent, model, and a first message', LONG, async () => {
  await started();
  const settings = await must(200, 'GET', '/api/settings', { key });
  assert.equal(settings.agent_settings.llm.model, `openai/${MODEL}`);
  assert.equal(settings.llm_api_key_is_set, true);
});

test('agent-server 63: a further message goes by socket and is answered live', LONG, async () => {
  await talked();
  const frames = canvas.sent.map((frame) => JSON.parse(frame));
  assert.ok(frames.some((frame) => frame.role === 'user' && frame.run === true), 'the message went by socket');
  assert.equal(await at('user-message').count(), 2);
});

test('agent-server 63: after a reload the history is there, once', LONG, async () => {
  await open(`/conversations/${await talked()}`);
  await page.reload();
  await shown('Now I rest.');
  await shown('The files are made.');
  await at('user-message').nth(1).waitFor();
  assert.equal(await at('user-message').count(), 2);
  assert.equal(await page.getByText('The files are made.').count(), 1);
});
