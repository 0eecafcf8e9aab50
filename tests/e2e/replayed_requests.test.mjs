// The stored events of a run lead to the same requests, byte for byte: in another process, and in a copy of the log.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation } from './support/conversation.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(async () => {
  assert.deepEqual(fake.violations, []);
  await fake.close();
});

const terminal = (command) => ({ name: 'terminal', arguments: { command, summary: 's', security_risk: 'LOW' } });
const STEPS = [
  { calls: [terminal('echo one; printf "\\303\\244\\001\\n"; echo $TOKEN')], reasoning: 'first the words' },
  { calls: [terminal('echo two'), { name: 'think', arguments: { thought: 'hm' } }] },
  { calls: [terminal('exit 3'), terminal('seq 20000')] },
  { text: 'an answer in words' },
];

const requestsOf = (model) => fake.requests.filter(({ body }) => body?.model === model);
/** The request as sent, without the name under which a provider caches the conversation. */
const bytesOf = (request, conversation) => request.text.replaceAll(conversation.id, '<id>');

/** For each answer of a model, the last event that it was given. */
function lastEventsBefore(events) {
  const seen = new Set();
  const found = [];
  let last;
  for (const event of events) {
    if (event.llm_response_id && !seen.has(event.llm_response_id)) {
      seen.add(event.llm_response_id);
      found.push(last);
    }
    if (event.kind !== 'ConversationStateUpdateEvent') last = event;
  }
  return found;
}

/** Fails unless a copy of the log up to each answer makes the request that led to it. */
async function assertRebuilt(t, conversation, requests) {
  const { model } = requests[0].body;
  const starts = lastEventsBefore(await conversation.events());
  assert.equal(starts.length, requests.length);
  for (const [i, event] of starts.entries()) {
    const info = await conversation.must(201, 'POST', '/fork', { json: { from_event_id: event.id } });
    const copy = new Conversation(info.id);
    t.after(() => copy.delete());
    const from = requestsOf(model).length;
    await copy.run();
    await waitUntil(() => requestsOf(model).length > from, `the copy of ${i} answers its model`);
    await copy.rest(['finished']);
    assert.equal(bytesOf(requestsOf(model)[from], copy), bytesOf(requests[i], conversation), `request ${i}`);
  }
}

test('each request of a run can be made again from its events', async (t) => {
  fake.setScenario('again', STEPS);
  const conversation = await Conversation.start(fake, 'again', { secrets: { TOKEN: { kind: 'StaticSecret', value: 'swordfish' } } });
  t.after(() => conversation.delete());
  for (const words of ['first', 'second']) assert.equal(await conversation.ask(words), 'finished');
  assert.equal(requestsOf('again').length, 2 * STEPS.length);
  await assertRebuilt(t, conversation, requestsOf('again'));
});

test('a worker that goes on with a run asks for the lost answer with the same bytes, and then as its predecessor', async (t) => {
  fake.setScenario('broken', STEPS.map((step, i) => (i === 2 ? { ...step, park: true } : step)));
  const conversation = await Conversation.start(fake, 'broken');
  t.after(() => conversation.delete());
  await conversation.say('go', true);
  await waitUntil(() => requestsOf('broken').length === 3, 'the third answer is on its way');
  fake.setScenario('broken', STEPS);
  await killAndAwait('worker');
  await conversation.rest(['finished']);
  const requests = requestsOf('broken');
  assert.equal(requests.length, STEPS.length + 1);
  assert.equal(requests[3].text, requests[2].text);
  await assertRebuilt(t, conversation, requests.filter((_, i) => i !== 2));
});
