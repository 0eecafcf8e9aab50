// Recorded runs of the original server that are ended midway, replayed: by a pause, an interrupt, or a kill.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { observed } from './support/conversation.mjs';
import { query } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { killEverything } from './support/processes.mjs';
import { assertAlike } from './support/recorded_differences.mjs';
import { recording } from './support/recording.mjs';
import { compareRequests, fake, lastEvents, letModelSay, playRecording, replayOf } from './support/recordings.mjs';
import { restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

/** The recording with a command that lasts until a file exists, not five seconds, in which a busy machine may not go on. */
const gated = (name) => JSON.parse(JSON.stringify(recording(name)).replaceAll('sleep 5; echo hi', 'until [ -e go ]; do sleep 0.1; done; echo hi'));

/** The path of the recorded conversation, as deft named it. */
const pathOf = (golden, replay) => replay.names.translate(golden.exchanges.find(({ path }) => /\/events$/.test(path ?? '')).path.replace('/events', ''));

test('recording slow-command-interrupt', (t) => playRecording(t, 'slow-command-interrupt', { golden: gated('slow-command-interrupt') }));

test('recording slow-command-pause', (t) => {
  const golden = gated('slow-command-pause');
  const during = async (replay) => {
    const path = await waitUntil(async () => {
      const seen = pathOf(golden, replay);
      const [row] = await query("SELECT stop_requested FROM conversations WHERE id = :'id'::uuid", { id: seen.split('/').at(-1) });
      return row?.stop_requested === 'pause' && seen;
    }, 'the pause is requested');
    assert.equal((await new Box(path, { key: replay.key }).upload(`${WORKING_DIR}/go`, '')).status, 200);
  };
  return playRecording(t, 'slow-command-pause', { golden, during });
});

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
  const path = pathOf(golden, replay);
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
