// Shared by the crash tests: conversations with a folder of their own, the lines that their commands
// wrote, and the rules that hold whichever process died.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Box } from '../e2e/support/box.mjs';
import { Conversation, isAction, observed, ofKind } from '../e2e/support/conversation.mjs';
import { assertSound, execute, query } from '../e2e/support/database.mjs';
import { Worker } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';

/** Deadline of a run with a crash, on a busy machine. */
export const RUN_MS = 180_000;
/** Exit status of a process that was killed. */
export const KILLED_STATUS = 137;

export { terminal } from '../e2e/support/model_calls.mjs';
export const finish = (message) => ({ name: 'finish', arguments: { message, summary: 'the end' } });

/** A new conversation in a folder of its own, or in the given one. */
export async function startAlone(t, fake, scenario, { folder = `/workspace/${randomUUID()}`, ...more } = {}) {
  const conversation = await Conversation.start(fake, scenario, {
    workspace: { kind: 'LocalWorkspace', working_dir: folder }, ...more,
  });
  conversation.folder = folder;
  t.after(() => conversation.delete());
  return conversation;
}

/** The lines of a file in the conversation's folder. */
export async function linesOf(conversation, name) {
  const answer = await conversation.call('GET', '/file/download', { query: { path: `${conversation.folder}/${name}` } });
  assert.equal(answer.status, 200, answer.text);
  return answer.text.split('\n').filter((line) => line !== '');
}

/** Resolves once a command has made this file. */
export const appeared = (conversation, name) => waitUntil(
  async () => (await conversation.call('GET', '/file/download', { query: { path: `${conversation.folder}/${name}` } })).status === 200,
  `${name} is there`,
);

/** Number of the newest lease, and who has it until when. */
export async function leaseOf(conversation) {
  const [row] = await query(`SELECT lease_fence AS fence, lease_owner AS owner FROM conversations WHERE id = :'id'`, conversation);
  return row;
}

/** Resolves with the lease that a worker holds now. */
export const heldLease = (conversation) => waitUntil(async () => {
  const lease = await leaseOf(conversation);
  return lease.owner !== null && lease;
}, 'a worker has the conversation');

/** Ends the lease of a dead worker, as time would. The tests that show that leases expire wait for a real end. */
export const expireLeases = (...conversations) => execute(`UPDATE conversations SET lease_expires_at = now() - interval '1 s'
  WHERE id = ANY (:'ids'::uuid[]) AND lease_expires_at IS NOT NULL`, { ids: `{${conversations.map(({ id }) => id).join(',')}}` });

/** Resolves once another worker than the holder of this lease has the conversation. */
export const takenOver = (conversation, lease) => waitUntil(
  async () => (await leaseOf(conversation)).fence > lease.fence,
  'another worker has the conversation',
);

/** The beginning of a command that continues only after letGo(). */
export const HELD = 'until [ -e go ]; do sleep 0.1; done; ';

/** Releases the commands that wait in the conversation's folder. */
export async function letGo(conversation) {
  const { status, text } = await new Box(conversation.path).upload(`${conversation.folder}/go`, 'go');
  assert.equal(status, 200, text);
}

/** Resolves once the action of this tool's call is stored. */
export const called = (conversation, tool) => conversation.event(isAction(tool), `the call of ${tool} is stored`);

/** Resolves once the model has got at least this many requests of the conversation. */
export const asked = (fake, model, count = 1) => waitUntil(
  () => fake.requests.filter(({ body }) => body?.model === model).length >= count,
  `the model ${model} is asked`,
);

/** Fails unless the run ended with a failure and a message, after the status; returns its event. */
export async function failureOf(conversation) {
  assert.equal(await conversation.rest(undefined, RUN_MS), 'error');
  const events = await conversation.events();
  const told = events.filter(ofKind('ConversationErrorEvent')).at(-1);
  assert.match(told?.detail ?? 'nothing', /\w+ \w+ \w+/);
  assert.ok(events.indexOf(told) > events.findIndex(({ key, value }) => key === 'execution_status' && value === 'error'));
  return told;
}

/** Fails unless the conversation's next run succeeds. */
export async function assertRunsAgain(conversation) {
  await conversation.run();
  assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
  await assertWhole(conversation);
}

/** Fails when a rule of the store is broken, or when a conversation's first event is not number 1. */
export async function assertWhole(...conversations) {
  await assertSound(...conversations);
  const ids = `{${conversations.map(({ id }) => id).join(',')}}`;
  const starts = await query(`SELECT DISTINCT min(seq) AS first FROM events WHERE conversation_id = ANY (:'ids'::uuid[]) GROUP BY conversation_id`, { ids });
  assert.deepEqual(starts, [{ first: 1 }]);
}

/** Fails unless each command gave its own result, and none of them failed. */
export async function assertAllRan(conversation, nCommands) {
  const events = await conversation.events();
  const results = events.filter(({ kind, tool_name: tool }) => kind === 'ObservationEvent' && tool === 'terminal');
  assert.equal(results.length, nCommands, `errors: ${JSON.stringify(events.filter(({ kind }) => kind.endsWith('ErrorEvent')))}`);
  for (const result of results) assert.equal(result.observation.exit_code, 0, observed(result));
}

/** A worker of the test, ended with it. */
export async function startWorker(t, settings) {
  const worker = await Worker.start(settings);
  t.after(() => worker.stop('SIGKILL'));
  return worker;
}

/** Fails unless the run ends well, and each of its commands ran. */
export async function assertEndsWell(conversation, nCommands) {
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  await assertAllRan(conversation, nCommands);
  await assertWhole(conversation);
}
