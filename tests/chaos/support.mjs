// What the crash tests share: conversations with a folder of their own, the lines that their commands
// wrote, and the rules that hold whatever died.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Box } from '../e2e/support/box.mjs';
import { Conversation, isAction, observed, ofKind } from '../e2e/support/conversation.mjs';
import { assertSound, query } from '../e2e/support/database.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';

/** How long a run may take to its end, with a crash in it, on a busy machine. */
export const RUN_MS = 180_000;

export const terminal = (command) => ({ name: 'terminal', arguments: { command, security_risk: 'LOW', summary: 'a step' } });
export const finish = (message) => ({ name: 'finish', arguments: { message, summary: 'the end' } });

/** A new conversation that works in a folder which no other one has, but for those that are given the same. */
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

/** Resolves once another worker than the holder of this lease has the conversation. */
export const takenOver = (conversation, lease) => waitUntil(
  async () => (await leaseOf(conversation)).fence > lease.fence,
  'another worker has the conversation',
);

/** What a command begins with that goes on only when letGo() was called. */
export const HELD = 'until [ -e go ]; do sleep 0.1; done; ';

/** Lets the commands go on that wait in the conversation's folder. */
export async function letGo(conversation) {
  const { status, text } = await new Box(conversation.path).upload(`${conversation.folder}/go`, 'go');
  assert.equal(status, 200, text);
}

/** Resolves once the action is stored that this tool's call made. */
export const called = (conversation, tool) => conversation.event(isAction(tool), `the call of ${tool} is stored`);

/** Resolves once the model has at least this many of the conversation's requests. */
export const asked = (fake, model, count = 1) => waitUntil(
  () => fake.requests.filter(({ body }) => body?.model === model).length >= count,
  `the model ${model} is asked`,
);

/** Fails unless the run ended with a failure that is told in a sentence, behind the status; returns its event. */
export async function failureOf(conversation) {
  assert.equal(await conversation.rest(undefined, RUN_MS), 'error');
  const events = await conversation.events();
  const told = events.filter(ofKind('ConversationErrorEvent')).at(-1);
  assert.match(told?.detail ?? 'nothing', /\w+ \w+ \w+/);
  assert.ok(events.indexOf(told) > events.findIndex(({ key, value }) => key === 'execution_status' && value === 'error'));
  return told;
}

/** Fails unless what was wrong is over, and the conversation's next run ends well. */
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
