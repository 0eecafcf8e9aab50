// What a run adds to the user's words and hides from the model: skills and secrets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isResult, observed } from './support/conversation.mjs';
import { play, requestsOf, textOf } from './support/loop.mjs';
import { terminal } from './support/model_calls.mjs';

const done = { text: 'done' };
const SKILL = { name: 'containers', content: 'Prune images first.', trigger: { type: 'keyword', keywords: ['docker'] } };
const SECRET = 'abc123';

const withSkill = (t) => play(t, [done], { agent: { agent_context: { skills: [SKILL] } } });
const messagesOf = async (conversation) => (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'user');
const extraOf = (event) => (event.extended_content ?? []).map(({ text }) => text).join('');

test('agent-loop 43: a skill that a word triggers comes with the message, once', async (t) => {
  const conversation = await withSkill(t);
  for (const words of ['Use Docker.', 'Use Docker.']) assert.equal(await conversation.ask(words), 'finished');
  const [first, second] = await messagesOf(conversation);
  assert.deepEqual(first.activated_skills, ['containers']);
  assert.match(extraOf(first), /^<EXTRA_INFO>[^]*Prune images first\.[^]*<\/EXTRA_INFO>$/);
  assert.deepEqual([second.activated_skills ?? [], extraOf(second)], [[], '']);
  const sent = requestsOf(conversation).at(-1).messages.map(textOf).join('');
  assert.equal(sent.split('Prune images first.').length, 2, 'the model reads it once');
});

test('agent-loop 44: a word inside of another word triggers nothing', async (t) => {
  const conversation = await withSkill(t);
  assert.equal(await conversation.ask('Please dockerize it.'), 'finished');
  const [message] = await messagesOf(conversation);
  assert.deepEqual([message.activated_skills ?? [], extraOf(message)], [[], '']);
  assert.ok(!JSON.stringify(requestsOf(conversation)[0].messages).includes('Prune images first.'));
});

test('agent-loop 45: a secret in a command\'s output is hidden, and stored nowhere', async (t) => {
  const conversation = await play(t, [{ calls: [terminal('echo $TOKEN; printf %s "$TOKEN" | wc -c')] }, done], { secrets: { TOKEN: SECRET } });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.match(observed(events.find(isResult('terminal'))), new RegExp(`^<secret-hidden>\\r?\\n${SECRET.length}\\b`));
  assert.ok(!JSON.stringify(events).includes(SECRET));
  assert.ok(!JSON.stringify(requestsOf(conversation)).includes(SECRET));
});
