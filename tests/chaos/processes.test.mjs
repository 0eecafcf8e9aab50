// Each process that clients use is killed under a light load: clients see only a short outage,
// acknowledged data is kept, and nothing runs twice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, text } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { answers, killAndAwait, pidOf, restartWith } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { Ledger, Reader } from './load.mjs';
import { RUN_MS, appeared, assertAllRan, assertWhole, finish, linesOf, startAlone, terminal } from './support.mjs';

const N_RUNS = 3;
const MESSAGES_BEFORE = 10;
const MESSAGES_AFTER = 30;
const LINES = ['one', 'two', 'three'];
const STEPS = [...LINES.map((word) => ({ calls: [terminal(`echo ${word} >> f; sleep 1`)] })), { calls: [finish('done')] }];

let fake;

before(async () => {
  fake = await startModel({ scenarios: { steps: STEPS } });
});

after(async () => {
  for (const name of ['postgres', 'fcgi', 'gateway', 'runtime', 'worker']) {
    await waitUntil(() => pidOf(name), `${name} is up`);
    await answers(name);
  }
  await fake.close();
});

/** Conversations that run commands, and one that is written and read continuously. */
async function startLoad(t) {
  const runs = await Promise.all(Array.from({ length: N_RUNS }, () => startAlone(t, fake, 'steps')));
  const written = await Conversation.start(fake, 'text');
  const [ledger, reader] = [new Ledger(written), new Reader(written)];
  t.after(async () => {
    await Promise.all([ledger.stop(), reader.stop()]);
    await written.delete();
  });
  await Promise.all(runs.map((run) => run.say('Do it.', true)));
  await Promise.all(runs.map((run) => appeared(run, 'f')));
  await ledger.more(MESSAGES_BEFORE);
  return { runs, written, ledger, reader };
}

async function assertSurvived({ runs, written, ledger, reader }) {
  await ledger.more(MESSAGES_AFTER);
  for (const run of runs) {
    const status = await waitUntil(async () => {
      const { status: code, json } = await run.call('GET');
      return code === 200 && json.execution_status !== 'running' && json.execution_status;
    }, 'the run ends', RUN_MS);
    assert.equal(status, 'finished');
  }
  await ledger.stop();
  ledger.assertOnlyOutages();
  await ledger.assertKept();
  await reader.assertSawAll();
  for (const run of runs) {
    await assertAllRan(run, LINES.length);
    assert.deepEqual(await linesOf(run, 'f'), LINES);
  }
  await assertWhole(written, ...runs);
}

test('after a kill of the gateway its readers reconnect and miss nothing', async (t) => {
  const load = await startLoad(t);
  const { connections } = load.reader;
  await killAndAwait('gateway');
  await assertSurvived(load);
  assert.ok(load.reader.connections > connections, 'the reader connected again');
  assert.deepEqual(load.ledger.failures, [], 'nobody else noticed');
});

test('acknowledged data survives the kill of its handler', async (t) => {
  const load = await startLoad(t);
  await killAndAwait('fcgi');
  await assertSurvived(load);
  assert.equal(load.reader.connections, 1, 'sockets are not touched');
});

test('answered requests are kept if the handler dies after the answer', async (t) => {
  const conversation = await Conversation.start(fake, 'text');
  t.after(() => conversation.delete());
  const doomed = await restartWith('fcgi', { DEFT_CRASH_AT: 'reply_sent:1' });
  const words = 'the last that it heard';
  await waitUntil(async () => {
    const { status } = await conversation.call('POST', '/events', { json: text(words) });
    assert.ok([200, 503].includes(status), String(status));
    return status === 200;
  }, 'the message is acknowledged');
  await waitUntil(() => pidOf('fcgi') !== null && pidOf('fcgi') !== doomed, 'another handler is there');
  await waitUntil(async () => (await conversation.call('GET')).status === 200, 'it answers');
  const said = (await conversation.events()).filter(({ kind }) => kind === 'MessageEvent');
  assert.deepEqual(said.map((event) => event.llm_message.content[0].text), [words]);
  await assertWhole(conversation);
});

/** The sandboxes of these conversations; those of other users may be paused during the test. */
const containersOf = (runs) => query(`SELECT DISTINCT r.id, r.container_id FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
  WHERE r.status = 'running' AND c.id = ANY (:'ids'::uuid[]) ORDER BY r.id`, { ids: `{${runs.map(({ id }) => id).join(',')}}` });

test('sandboxes survive the process that created them', async (t) => {
  const load = await startLoad(t);
  const made = await containersOf(load.runs);
  assert.equal(made.length, 1, 'they share one');
  await killAndAwait('runtime');
  await assertSurvived(load);
  assert.deepEqual(await containersOf(load.runs), made);
  assert.deepEqual(load.ledger.failures, [], 'nobody else noticed');
});

test('a sandbox is started even if the process that was starting it is killed', async (t) => {
  const conversation = await startAlone(t, fake, 'steps', { conversation_runtime: 'docker' });
  await conversation.say('Do it.', true);
  await waitUntil(async () => {
    const [row] = await query(`SELECT r.status FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id WHERE c.id = :'id'`, conversation);
    return row !== undefined;
  }, 'the start is under way');
  await killAndAwait('runtime');
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  await assertAllRan(conversation, LINES.length);
  assert.deepEqual(await linesOf(conversation, 'f'), LINES);
  await assertWhole(conversation);
});

test('acknowledged data survives a kill of the database, and work continues', async (t) => {
  const load = await startLoad(t);
  await killAndAwait('postgres');
  await assertSurvived(load);
});
