// Replays the recorded conversations of the original server, request by request and frame by frame: deft answers
// the same, sends the same events in the same order, and calls the model with the same requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { call, must } from './support/api.mjs';
import { observed } from './support/conversation.mjs';
import { differences } from './support/likeness.mjs';
import { strictModel } from './support/model.mjs';
import { killEverything } from './support/processes.mjs';
import { answersOf, recording, startOf } from './support/recording.mjs';
import { Replay } from './support/replay.mjs';
import { restingSnapshot } from './support/socket.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();

// --- deft's differences, with reasons; `at` is the place ---

const SERVER_INFO = [
  { at: /^GET \/server_info\.usable_tools\[/, why: 'deft lists the tools that it has' },
  { at: /^GET \/server_info\.capabilities\[/, why: 'deft lists the capabilities whose routes it has' },
];

const BOTH_RUNTIMES = { at: /^GET \/server_info\.available_conversation_runtimes\[/, why: 'deft offers both runtimes' };

const NO_COMMIT = { at: /^POST \/api\/conversations\/{id}\/children: expected 500 .*seen 201 /, why: 'in a repository without a commit the child shares the folder' };

const FORKS = [
  ['security_analyzer', 'a copy judges its actions as its source does'],
  ['secret_registry', 'a copy can do what its source could'],
  ['agent(?:\\.condenser)?\\.llm\\.api_key', 'a copy can run: its model\'s key comes along'],
].map(([member, why]) => ({ at: new RegExp(`^(?:POST /api/conversations/{id}/fork|GET /api/conversations/{id}|events [23]  snapshot of idle\\.value)\\.${member}`), why }));

const DEFTS_WAY = {
  'hello-all-client-calls': [
    ...SERVER_INFO,
    BOTH_RUNTIMES,
    ...FORKS,
    { at: /\/load_plugin\.detail: /, why: 'texts of deft are its own' },
    { at: /^model request 0\.tools\[\d\]\..*\.security_risk: expected nothing/, why: 'a side question lists the same tools as a step, so that the model has the beginning in its cache' },
    { at: /^GET \/api\/settings\.agent_settings\.llm\.model: /, why: 'the model of an instance is set by who runs it' },
    { at: /^GET \/api\/settings\.agent_settings\.agent_context\.current_datetime: /, why: 'a date is filled in where a conversation starts, not when settings are read' },
  ],
  'parallel-tool-calls': [
    { at: /\.leaf_event_id: /, why: 'the result of the call behind the finish is the last event' },
    { at: /^model request 2\.messages\[[5-9]\]/, why: 'the original splits the batch behind an error; here it is one message, and the results follow in call order' },
  ],
  'slow-llm-interrupt': [
    { at: /snapshot of paused\.value\.stats\.usage_to_metrics\.agent\.(?:costs|response_latencies|token_usages)\[0\]: expected nothing/, why: 'the recorded title came after the interrupt' },
    { at: /expected 0 stats updates, seen 1$/, why: 'the recorded title came after the interrupt' },
  ],
  'conversation-runtime': [
    ...SERVER_INFO,
    BOTH_RUNTIMES,
    NO_COMMIT,
    { at: /\.sub_conversation_ids\[1\]: expected nothing/, why: 'that child exists here' },
    { at: /^GET \/api\/bash\/bash_events\/search\.items\[[0-3]\]: .* seen nothing$/, why: 'commands of another recording on the same server' },
    { at: /\/vscode\/(?:url\.exception|status\.message): /, why: 'texts of deft are its own' },
    { at: /\/file\/archive\?.* content-disposition: .*\\"ws\.tar\.gz.*\\"project\.tar\.gz/, why: 'the folder that was recorded was called ws' },
    { at: /\/file\/(?:archive|download-trajectory).* accept-ranges: /, why: 'archives are made while they are sent: they have no parts to ask for' },
    { at: /^POST \/api\/conversations: expected 422 .*only runs local.* seen 201 /, why: 'deft offers both runtimes' },
  ],
  'conversation-runtime-docker': [
    ...SERVER_INFO,
    { at: /\/runtime\.detail: expected "Conversation not found", seen "Not Found"$/, why: 'the local runtime of the original says so, too' },
    { at: /^GET \/api\/conversations\/(?:search\.items\[0\]|\{id\})\.secret_registry/, why: 'the secrets of a start are listed from the start' },
    { at: /ObservationEvent file_editor\.observation|\[5\]\.observation/, why: 'the folder was missing in the original\'s container' },
    { at: /\/git\/changes\?path=%2Fworkspace\[0\]: expected nothing/, why: 'the file that could not be written there' },
    { at: /\.items\[0\]\.(?:stdout|stderr|exit_code): /, why: 'the container, its user and the files in it are others' },
    { at: /\/fork: expected 501 .* seen 201 /, why: 'deft\'s loop is outside the sandbox, so this works' },
    { at: /\/switch_profile: expected 501 .* seen 404 .*Profile 'x' not found/, why: 'deft\'s loop is outside the sandbox, so this works' },
    { at: /\/secrets: expected 422 .* seen 200 /, why: 'no secret leaves through a sandbox here' },
    NO_COMMIT,
    { at: /^POST \/api\/conversations\.detail/, why: 'texts of deft are its own' },
    { at: /^DELETE \/api\/conversations\/\{id\} content-type: /, why: 'a delete answers as with the local runtime' },
  ],
  'restart-mid-conversation': [
    { at: /\.stats\.usage_to_metrics\.agent\.(?:costs|response_latencies|token_usages)\[[23]\]: expected nothing|expected 3 stats updates, seen 4$/, why: 'the original lost count when it was killed' },
  ],
  'session-socket': [
    { at: /error\.detail: /, why: 'texts of deft are its own' },
  ],
};

/** The differences of a replay are exactly the listed ones, and each of them still exists. */
function assertAlike(name, replay) {
  const ways = DEFTS_WAY[name] ?? [];
  assert.deepEqual(replay.differences.filter((line) => !ways.some(({ at }) => at.test(line))), []);
  assert.deepEqual(ways.filter(({ at }) => !replay.differences.some((line) => at.test(line))), [], 'these are alike by now');
}

// --- answers and requests of the model ---

const TITLE = { text: 'A short title' };
const SUMMARY = { text: '<summary>Summary of what happened.</summary>' };
const ANSWER = { text: 'The answer.' };

const nAnswers = ({ messages }) => messages.filter(({ role }) => role === 'assistant').length;

/**
 * The recorded model is played by the fake one; a title and a summary are asked for without tools. The errors play
 * themselves. parked: the number of the request whose answer waits until it is released.
 */
function letModelSay(golden, { steps = answersOf(golden), parked = 0 } = {}) {
  const others = [TITLE, SUMMARY];
  let n = 0;
  if (steps.length === 0) return;
  fake.setScenario(startOf(golden).agent.llm.model.replace('openai/', ''), (body) => {
    if (body.tools === undefined) return others.shift();
    n += 1;
    return { ...(steps[nAnswers(body)] ?? ANSWER), park: n === parked };
  });
}

/** The bodies of a request to a model, in a form that both sides have. */
const asked = (body) => ({
  ...body,
  messages: body.messages.map((message) => ({ ...message, ...(message.content ? { content: [message.content].flat() } : {}) })),
});

/** The model's requests are the same, with tools and without. Of the longest recording only the last ones exist. */
function compareRequests(golden, replay, from, { isEnd = false } = {}) {
  const seen = fake.requests.slice(from).map(({ body }) => body).filter(({ model }) => model === golden.requests[0]?.model);
  for (const isStep of [true, false]) {
    const expected = golden.requests.filter(({ tools }) => (tools !== undefined) === isStep);
    const ours = seen.filter(({ tools }) => (tools !== undefined) === isStep);
    const first = isEnd ? ours.length - expected.length : 0;
    for (const [i, body] of expected.entries()) {
      assert.ok(ours[first + i], `request ${i} reached the model`);
      const recorded = asked(body);
      const own = asked(ours[first + i]);
      replay.names.learn(recorded, own);
      replay.note(differences(replay.names.translateAll(recorded), own, `model request ${i}`));
    }
  }
}

/** A replay for a new user. At its end all sockets are closed and the model is released. */
async function replayOf(t, golden, more = {}) {
  const user = await newUser();
  const replay = new Replay(golden, { key: user.key, modelUrl: fake.url, ...more });
  t.after(async () => {
    fake.release();
    await replay.leave();
  });
  return replay;
}

// --- the recordings ---

/** A call after the finish of its answer: models refuse a request in which it has no result. */
const isUnexecuted = (event) => event.error?.startsWith('This call was not executed');

/** Refused there and done here: the rest of the recording would use another model. */
const isOtherModel = ({ path, status }) => status === 501 && path.endsWith('/switch_llm');

/** The final state that the recorded client read. */
const lastEvents = (golden) => golden.exchanges.filter(({ path }) => path?.includes('/events/search')).at(-1).response.items;

/** Errors from before the run: of a failed title, which deft reports only in the run. */
function titleErrors(golden) {
  const items = lastEvents(golden);
  const begun = items.findIndex(({ key, value }) => key === 'execution_status' && value === 'running');
  return new Set(items.slice(0, Math.max(begun, 0)).filter(({ kind }) => kind === 'ConversationErrorEvent').map(({ id }) => id));
}

// Before a release the recorded client closed its sockets.
const PLAYED = [
  'hello', 'hello-all-client-calls', 'hello-confirmation', 'llm-error', 'llm-error-500', 'slow-command-interrupt', 'slow-command-pause',
  'unknown-tool', 'parallel-tool-calls', 'streaming', 'security-analyzer', 'secrets-masking', 'conversation-runtime', 'conversation-runtime-docker',
];

for (const name of PLAYED) {
  test(`recording ${name}`, async (t) => {
    const golden = recording(name);
    letModelSay(golden);
    const from = fake.requests.length;
    const theirs = titleErrors(golden);
    const replay = await replayOf(t, golden, { isTheirs: ({ id }) => theirs.has(id), isOurs: isUnexecuted, isLeftOut: isOtherModel });
    await replay.play('release');
    await replay.end();
    await replay.play();
    await replay.end();
    compareRequests(golden, replay, from, { isEnd: name === 'hello-all-client-calls' });
    assertAlike(name, replay);
  });
}

test('recording slow-llm-interrupt', async (t) => {
  const golden = recording('slow-llm-interrupt');
  // The interrupted answer never comes; the recorded one took five seconds.
  letModelSay(golden, { parked: 1 });
  const from = fake.requests.length;
  const replay = await replayOf(t, golden);
  await replay.play('interrupt');
  await waitUntil(() => fake.nParked() === 1, 'the model is asked');
  await replay.play();
  await replay.end();
  compareRequests(golden, replay, from);
  assertAlike('slow-llm-interrupt', replay);
});

test('recording restart-mid-conversation: deft continues where the original gave up', async (t) => {
  const golden = recording('restart-mid-conversation');
  letModelSay(golden);
  const from = fake.requests.length;
  // The original's error, and the run that the user had to start after it.
  const events = lastEvents(golden);
  const failed = events.findIndex(({ key, value }) => key === 'execution_status' && value === 'error');
  const theirs = new Set(events.slice(failed, failed + 3).map(({ id }) => id));
  const isOurs = (event) => event.kind === 'ObservationEvent' && ['terminal', 'think'].includes(event.tool_name);
  const replay = await replayOf(t, golden, { isTheirs: ({ id }) => theirs.has(id), isOurs });
  await replay.play('kill -9 the server while a command runs');
  await killEverything();
  const path = replay.names.translate(golden.exchanges.find(({ path: one }) => /\/events$/.test(one ?? '')).path.replace('/events', ''));
  const status = async () => (await call('GET', path, { key: replay.key }).catch(() => ({}))).json?.execution_status;
  await waitUntil(async () => await status() === 'finished', 'the run goes on to its end');
  await replay.leave();
  const attached = golden.exchanges.filter(({ kind }) => kind === 'ws-open').at(-1);
  await replay.open(attached);
  const { socket } = replay.listeners.get(attached.socket);
  socket.send({ type: 'auth', session_api_key: replay.key });
  await socket.frame(restingSnapshot(['finished']), 'the first snapshot');
  const { items } = await must(200, 'GET', `${path}/events/search`, { key: replay.key });
  assert.deepEqual(items.filter(isOurs).map(observed), ['survived', 'Your thought has been logged.']);
  replay.skip('new message');
  await replay.play();
  await replay.end();
  compareRequests({ requests: golden.requests.slice(0, 2) }, replay, from);
  const { messages } = fake.requests.at(-1).body;
  assert.deepEqual(messages.map(({ role }) => role), ['system', 'user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'user']);
  assertAlike('restart-mid-conversation', replay);
});

/** The frames of a session in the contract's order: stored events, the snapshot, live events. */
function inContractOrder(exchanges, socket) {
  const rank = ({ type }) => ['sync', 'durable', 'transient'].indexOf(type) + 1 || 4;
  const isFrame = (one) => one.kind === 'ws' && one.socket === socket;
  const frames = exchanges.filter(isFrame).sort((a, b) => rank(a.frame) - rank(b.frame));
  return exchanges.map((one) => (isFrame(one) ? frames.shift() : one));
}

/** Waits for a condition during the replay; fails with the replay. */
async function meanwhile(playing, check, what) {
  let failure;
  playing.catch((error) => {
    failure = error;
  });
  await waitUntil(() => {
    if (failure) throw failure;
    return check();
  }, what);
}

test('recording session-socket', async (t) => {
  const golden = recording('session-socket');
  // Pieces that arrive after their event are not sent: each answer ends when its pieces were sent. The second waits
  // until the third socket is open, so that it gets it from the first piece on. Its end was not recorded.
  const [command, last] = answersOf(golden);
  const steps = [command, { text: 'just text' }, last].map((step) => ({ ...step, hold: true }));
  letModelSay(golden, { steps, parked: 2 });
  const replay = await replayOf(t, { ...golden, exchanges: inContractOrder(golden.exchanges, 'session 4') });
  const count = async (n) => {
    const counted = replay.names.translate(golden.exchanges.find(({ path }) => path?.endsWith('/events/count')).path);
    await waitUntil(async () => await must(200, 'GET', counted, { key: replay.key }) === n, `${n} events are stored`);
  };
  /** Continues to the mark; the model's answer ends when these sockets have got it. */
  const playAnswer = async (mark, text, sockets, playing = replay.play(mark)) => {
    const isShown = (name) => isDeepStrictEqual(replay.listeners.get(name)?.pieces(), [text]);
    await meanwhile(playing, () => sockets.every(isShown), `${text} is shown`);
    fake.release();
    await playing;
  };

  await playAnswer('reconnect after the last three events', 'sleeping', ['session 1', 'events 2']);
  await replay.leave();
  await replay.play('everything from the start');
  const again = replay.listeners.get('session 3').socket;
  await again.until((frames) => frames.length >= 5, 'the last three events and a snapshot');
  assert.deepEqual(again.frames.slice(0, 5).map(({ type, seq }) => [type, seq]), [
    ['sync', undefined], ['durable', 3], ['durable', 4], ['durable', 5], ['transient', undefined],
  ]);
  await replay.leave();
  await count(7);
  const playing = replay.play('a bad frame, then a message');
  const isThere = () => replay.listeners.get('session 4')?.socket.frames.some(({ type }) => type === 'transient');
  await meanwhile(playing, () => isThere() && fake.nParked() === 1, 'the third socket is there, and the model is asked');
  fake.release();
  await playAnswer(undefined, 'just text', ['session 4'], playing);
  await count(10);
  await replay.leave();
  await playAnswer(undefined, last.text, ['session 5']);
  await replay.end();
  assertAlike('session-socket', replay);
});
