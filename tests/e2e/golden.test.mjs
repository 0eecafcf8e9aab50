// The same conversations as the original server was recorded in: the same events come out of deft, and
// the same requests reach the model.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, isAction } from './support/conversation.mjs';
import { isTitleRequest, messages, paths, recording, sequence, tools } from './support/golden.mjs';
import { isSnapshot, restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(async () => {
  assert.deepEqual(fake.violations, []);
  await fake.close();
});

/** The recorded client's own start request; its model is the fake one, its workspace empty. */
function startRequest(golden) {
  const request = structuredClone({ ...golden.create, conversation_runtime: 'docker' });
  const { llm, condenser } = request.agent;
  llm.base_url = fake.url;
  if (condenser?.llm) condenser.llm.base_url = fake.url;
  return request;
}

/** What the recorded model said, step by step. */
function stepsOf(golden) {
  const steps = new Map();
  for (const event of golden.events) {
    if (!event.llm_response_id) continue;
    const step = steps.get(event.llm_response_id) ?? {};
    steps.set(event.llm_response_id, step);
    const [part] = event.thought ?? event.llm_message.content;
    if (part) step.text = part.text;
    if (event.tool_call) step.calls = [...(step.calls ?? []), { name: event.tool_call.name, arguments: event.tool_call.arguments }];
  }
  return [...steps.values()];
}

/**
 * Plays a recording's scenario up to its end, as its client did; resolves with all that deft showed.
 * prepare: what the client did before its message; drive: what it did from its first run on.
 */
async function play(golden, drive = async () => {}, prepare = async () => {}) {
  const request = startRequest(golden);
  const conversation = await Conversation.create(request);
  const created = await conversation.info();
  const socket = await conversation.socket({ auth: 'frame' });
  await socket.frame(isSnapshot, 'the first snapshot');
  await prepare(conversation);
  const from = fake.requests.length;
  await conversation.say(golden.events.find((event) => event.kind === 'MessageEvent').llm_message.content[0].text);
  // The recorded client was slower than the model of the title.
  await waitUntil(async () => (await conversation.info()).title, 'the title is made');
  await conversation.run();
  await drive(conversation, socket);
  const end = golden.snapshot.value.execution_status;
  const snapshot = await socket.frame(restingSnapshot([end]), `the snapshot of ${end}`);
  const live = socket.frames.filter((event) => !isSnapshot(event) && event.kind !== 'StreamingDeltaEvent');
  const stored = await conversation.events();
  await socket.close();
  await conversation.delete();
  const asked = fake.requests.slice(from).map(({ body }) => body);
  const requests = asked.filter((body) => !isTitleRequest(body));
  return { created, live, stored, snapshot, requests, titles: asked.filter(isTitleRequest) };
}

function compare(golden, played) {
  const expected = sequence(golden.events);
  const seen = sequence(played.stored);
  assert.deepEqual(seen.events, expected.events);
  assert.equal(seen.stats.length, expected.stats.length, 'one stats update for each answer of the model');
  for (const usage of seen.stats) assert.deepEqual(usage.agent, expected.stats[0].agent);
  assert.deepEqual(played.live.map(({ id }) => id), played.stored.map(({ id }) => id), 'what came live is what is stored');
  assert.deepEqual(Object.keys(played.snapshot.value).sort(), Object.keys(golden.snapshot.value).sort(), 'the members of a snapshot');
  assert.deepEqual(paths(played.created.agent), paths(golden.info.agent), 'the members of an agent');
  for (const member of Object.keys(golden.info)) assert.ok(member in played.created, `the reply has ${member}`);
  assert.deepEqual(played.titles.map(({ messages: asked }) => asked.map(({ role }) => role)), [['system', 'user']], 'one request for a title');
  assert.ok(played.requests.length >= golden.model_requests.length);
  for (const [i, { body }] of golden.model_requests.entries()) {
    assert.deepEqual(messages(played.requests[i]), messages(body), `messages of request ${i}`);
    assert.deepEqual(tools(played.requests[i]), tools(body), `tools of request ${i}`);
    assert.equal(played.requests[i].model, body.model);
  }
}

/** Every answer of the model is counted before its first event. */
function assertStatsFirst(events) {
  const answers = new Set();
  for (const [i, event] of events.entries()) {
    if (!event.llm_response_id || answers.has(event.llm_response_id)) continue;
    answers.add(event.llm_response_id);
    assert.equal(events[i - 1].key, 'stats', `what stands before ${event.kind} ${event.tool_name ?? ''}`);
  }
}

for (const name of ['hello', 'unknown-tool', 'llm-error']) {
  test(`events of ${name}`, async () => {
    const golden = recording(name);
    const played = await play(golden);
    compare(golden, played);
    assertStatsFirst(played.stored);
  });
}

for (const [name, stop, told] of [['slow-command-pause', '/pause', 'PauseEvent'], ['slow-command-interrupt', '/interrupt', 'InterruptEvent']]) {
  test(`events of ${name}`, async () => {
    const golden = recording(name);
    const played = await play(golden, async (conversation, socket) => {
      await socket.frame(isAction('terminal'), 'the command');
      await conversation.must(200, 'POST', stop);
      await socket.frame((event) => event.kind === told, told);
      await socket.frame(restingSnapshot(['paused']), 'the snapshot of the pause');
      await conversation.run();
    });
    compare(golden, played);
    assertStatsFirst(played.stored);
  });
}

/** The next snapshot of that status. */
const next = (socket, status, from) => socket.frame(restingSnapshot([status]), `the snapshot of ${status}`, { from });

// What each recorded client did; isReplayed: the fake has no scenario of that model, the recording does.
const CLIENT_CALLS = {
  'hello-confirmation': {
    prepare: (conversation) => conversation.must(200, 'POST', '/confirmation_policy', { json: { policy: { kind: 'AlwaysConfirm' } } }),
    drive: async (conversation, socket) => {
      await next(socket, 'waiting_for_confirmation', 0);
      await conversation.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: false, reason: 'no thanks' } });
      const from = socket.frames.length;
      await conversation.run();
      await next(socket, 'waiting_for_confirmation', from);
      await conversation.run();
    },
  },
  'parallel-tool-calls': { isReplayed: true },
  'secrets-masking': { isReplayed: true, prepare: (conversation) => conversation.must(200, 'POST', '/secrets', { json: { secrets: { MYSEC: 's3cret-value-12345' } } }) },
  'security-analyzer': {
    isReplayed: true,
    prepare: async (conversation) => {
      await conversation.must(200, 'POST', '/security_analyzer', { json: { security_analyzer: { kind: 'LLMSecurityAnalyzer' } } });
      await conversation.must(200, 'POST', '/confirmation_policy', { json: { policy: { threshold: 'HIGH', confirm_unknown: true, kind: 'ConfirmRisky' } } });
    },
    drive: async (conversation, socket) => {
      await next(socket, 'waiting_for_confirmation', 0);
      await conversation.run();
    },
  },
  'slow-llm-interrupt': {
    drive: async (conversation, socket) => {
      await conversation.must(200, 'POST', '/interrupt');
      await next(socket, 'paused', 0);
      await conversation.run();
    },
  },
  streaming: {},
  'llm-error-500': {},
};

for (const [name, { prepare, drive, isReplayed }] of Object.entries(CLIENT_CALLS)) {
  test(`events of ${name}`, async () => {
    const golden = recording(name);
    if (isReplayed) fake.setScenario(golden.create.agent.llm.model.replace('openai/', ''), stepsOf(golden));
    const played = await play(golden, drive, prepare);
    compare(golden, played);
    assertStatsFirst(played.stored);
  });
}
