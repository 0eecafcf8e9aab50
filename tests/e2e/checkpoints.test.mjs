// Checkpoints of a conversation's files: taken per turn, and set back by a fork or a step back in the log.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Box } from './support/box.mjs';
import { Conversation, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';

// Each turn adds a line to a file, makes one of its own, and changes a mode and a link.
const TURN = 'n=$(($(cat log 2>/dev/null | wc -l) + 1)); echo "line $n" >> log; mkdir -p d; echo $n > d/turn-$n; ln -sfn d/turn-$n newest; echo run > tool; chmod 755 tool';
const AS_AFTER = (n) => ({
  'd/turn': Array.from({ length: n }, (_, i) => `d/turn-${i + 1}`).join(' '), log: String(n), newest: `d/turn-${n}`,
});

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('turns', [{ calls: [{ name: 'terminal', arguments: { command: TURN } }] }, { text: 'did it' }]);
  fake.setScenario('words', [{ text: 'an answer in words' }]);
});

after(async () => {
  assert.deepEqual(fake.violations, []);
  await fake.close();
});

async function begin(t, scenario = 'turns', more = {}) {
  const folder = `/workspace/${randomUUID()}`;
  const conversation = await Conversation.start(fake, scenario, { workspace: { kind: 'LocalWorkspace', working_dir: folder }, ...more });
  conversation.folder = folder;
  t.after(() => conversation.delete());
  return conversation;
}

/** What a command prints in the conversation's folder. */
async function sh(conversation, command) {
  const answer = await conversation.must(200, 'POST', '/bash/execute_bash_command', { json: { command, cwd: conversation.folder } });
  assert.equal(answer.exit_code, 0, `${command}: ${answer.stderr}`);
  return (answer.stdout ?? '').trim();
}

async function filesOf(conversation) {
  const [turns, log, newest] = (await sh(conversation, 'echo $(ls d/turn-* | sort); wc -l < log; readlink newest')).split('\n');
  return { 'd/turn': turns, log: log.trim(), newest };
}

const checkpointsOf = async (conversation) => (await conversation.must(200, 'GET', '/checkpoints')).items;
const answersOf = async (conversation) => (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'agent');
const messagesOf = async (conversation) => (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'user');

async function withTurns(t, n, more = {}) {
  const conversation = await begin(t, 'turns', more);
  for (let i = 0; i < n; i++) assert.equal(await conversation.ask(`turn ${i + 1}`), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(n));
  return conversation;
}

async function fork(t, source, json) {
  const info = await source.must(201, 'POST', '/fork', { json });
  const copy = new Conversation(info.id);
  copy.folder = source.folder;
  t.after(() => copy.delete());
  return copy;
}

test('each turn that may change files has a checkpoint, named by its message', async (t) => {
  const conversation = await withTurns(t, 2);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...(await conversation.info()).agent.llm, model: 'openai/words', base_url: fake.url, api_key: 'sk-test' } } });
  assert.equal(await conversation.ask('only words'), 'finished');
  const items = await checkpointsOf(conversation);
  const [first, second] = await messagesOf(conversation);
  assert.deepEqual(items.map(({ message_id: id }) => id), [first.id, second.id]);
  for (const item of items) {
    assert.match(item.checkpoint_id, /^[0-9a-f]{64}$/);
    assert.equal(item.reason, null);
    assert.equal(item.n_skipped, 0);
  }
  assert.deepEqual(items.map(({ n_files: n }) => n), [0, 4]);
  const calls = (await conversation.events()).filter(ofKind('ActionEvent'));
  assert.deepEqual(items.map(({ before_event_id: id }) => id), calls.map(({ id }) => id));
});

test('whether the files of an event can be restored is told before', async (t) => {
  const conversation = await withTurns(t, 2);
  const [first, second] = await answersOf(conversation);
  const at = async (query) => conversation.must(200, 'GET', '/checkpoints/at', { query });
  assert.deepEqual(await at({}), { state: 'stored', reason: null });
  assert.deepEqual(await at({ event_id: first.id }), { state: 'stored', reason: null });
  assert.deepEqual(await at({ event_id: second.id }), { state: 'unchanged', reason: null });
  assert.equal((await conversation.call('GET', '/checkpoints/at', { query: { event_id: randomUUID() } })).status, 404);
});

test('a step back sets the files back before the next turn, and what it replaces can be had again', async (t) => {
  const conversation = await withTurns(t, 3);
  const [first, , third] = await answersOf(conversation);
  const info = await conversation.must(200, 'POST', '/navigate', { json: { event_id: first.id, restore_files: true } });
  assert.equal(info.leaf_event_id, first.id);
  assert.deepEqual(await filesOf(conversation), AS_AFTER(3), 'nothing changes before the next run');
  assert.equal(await conversation.ask('another second turn'), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(2));
  assert.equal(await sh(conversation, 'cat log'), 'line 1\nline 2');
  assert.equal(await sh(conversation, 'test -x tool && cat tool'), 'run');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: third.id, restore_files: true } });
  assert.equal(await conversation.ask('a fourth turn'), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(4), 'the files of the abandoned branch, and a turn more');
  await assertSound(conversation);
});

test('a message is edited and sent again: the files are as it found them', async (t) => {
  const conversation = await withTurns(t, 3);
  const events = await conversation.events();
  const second = (await messagesOf(conversation))[1];
  const parent = events.slice(0, events.findIndex(({ id }) => id === second.id)).findLast(({ kind }) => kind !== 'ConversationStateUpdateEvent');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: parent.id, restore_files: true } });
  assert.equal(await conversation.ask('the second turn, in other words'), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(2));
});

test('a step back to the start sets back to the files before the first turn', async (t) => {
  const conversation = await begin(t);
  await new Box(conversation.path).upload(`${conversation.folder}/given`, 'by the user');
  for (const words of ['one', 'two']) assert.equal(await conversation.ask(words), 'finished');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: null, restore_files: true } });
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...(await conversation.info()).agent.llm, model: 'openai/words', base_url: fake.url, api_key: 'sk-test' } } });
  assert.equal(await conversation.ask('anew'), 'finished');
  assert.equal(await sh(conversation, 'find . -name .git -prune -o -type f -print'), './given');
});

test('without restore_files a step back leaves the files alone', async (t) => {
  const conversation = await withTurns(t, 2);
  const [first] = await answersOf(conversation);
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: first.id } });
  assert.equal(await conversation.ask('a third turn'), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(3));
});

test('a fork with the files of an earlier event has them in a sandbox of its own; the source keeps its files', async (t) => {
  const source = await withTurns(t, 3);
  const [first] = await answersOf(source);
  const copy = await fork(t, source, { from_event_id: first.id, restore_files: true });
  assert.equal(await copy.ask('another second turn'), 'finished');
  assert.deepEqual(await filesOf(copy), AS_AFTER(2));
  assert.equal(await sh(copy, 'test -x tool && cat log'), 'line 1\nline 2');
  assert.deepEqual(await filesOf(source), AS_AFTER(3));
  assert.equal(await source.ask('a fourth turn'), 'finished');
  assert.deepEqual(await filesOf(source), AS_AFTER(4));
  assert.deepEqual(await filesOf(copy), AS_AFTER(2));
  await assertSound(source, copy);
});

test('a fork of a conversation with a sandbox of its own has its files without being asked', async (t) => {
  const source = await withTurns(t, 2, { conversation_runtime: 'docker' });
  const whole = await fork(t, source, {});
  assert.equal(await source.ask('a third turn'), 'finished');
  assert.equal(await whole.ask('another third turn'), 'finished');
  assert.deepEqual(await filesOf(whole), AS_AFTER(3));
  const without = await fork(t, source, { restore_files: false });
  assert.equal(await without.ask('a turn'), 'finished');
  assert.deepEqual(await filesOf(without), AS_AFTER(1));
  const [first] = await answersOf(source);
  const second = await fork(t, whole, { from_event_id: first.id });
  assert.equal(await second.ask('a turn'), 'finished');
  assert.deepEqual(await filesOf(second), AS_AFTER(2), 'the checkpoint is in the sandbox of the source of the source');
});

test('a fork that shares its source\'s sandbox has the files as they are', async (t) => {
  const source = await withTurns(t, 2);
  const [first] = await answersOf(source);
  const copy = await fork(t, source, { from_event_id: first.id });
  assert.equal(await copy.ask('a third turn'), 'finished');
  assert.deepEqual(await filesOf(source), AS_AFTER(3));
});

test('runs, checkpoints and restores leave the user\'s repository byte for byte as it was', async (t) => {
  const conversation = await begin(t);
  await new Box(conversation.path).upload(`${conversation.folder}/README`, 'hello');
  await sh(conversation, 'git init -q . && git config user.email a@b && git config user.name a && git add README && git commit -q -m first && git init -q sub && echo 1 > sub/file && printf "#!/bin/sh\\ntouch /workspace/ran-$$\\n" > .git/hooks/post-index-change && chmod 755 .git/hooks/post-index-change && git config core.fsmonitor /bin/false');
  const SUMS = 'find .git sub/.git -type f -o -type l | sort | xargs sha256sum; find .git sub/.git -printf "%p %m %T@\\n" | sort';
  const before = await sh(conversation, SUMS);
  for (const words of ['one', 'two']) assert.equal(await conversation.ask(words), 'finished');
  const [first] = await answersOf(conversation);
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: first.id, restore_files: true } });
  assert.equal(await conversation.ask('two again'), 'finished');
  assert.deepEqual(await filesOf(conversation), AS_AFTER(2));
  assert.equal(await sh(conversation, SUMS), before);
  await sh(conversation, 'git -c core.fsmonitor=false fsck --strict && test -z "$(ls /workspace/ran-* 2>/dev/null)" && test "$(cat sub/file)" = 1');
});

test('what a checkpoint leaves out is named, and a turn without one goes on', async (t) => {
  const conversation = await begin(t);
  await sh(conversation, 'true');
  await new Box(conversation.path).upload(`${conversation.folder}/given`, 'x');
  await sh(conversation, 'truncate -s 20000000 large');
  assert.equal(await conversation.ask('one'), 'finished');
  const [item] = await checkpointsOf(conversation);
  assert.deepEqual(item.skipped, [{ path: 'large', reason: 'too large' }]);
  assert.equal(item.n_skipped, 1);
});

test('files that cannot be restored are refused at once, with the reason', async (t) => {
  const conversation = await withTurns(t, 1);
  const unknown = await conversation.call('POST', '/navigate', { json: { event_id: randomUUID(), restore_files: true } });
  assert.equal(unknown.status, 404);
  assert.equal((await conversation.call('POST', '/navigate', { json: { event_id: null, restore_files: 'perhaps' } })).status, 422);
  assert.equal((await conversation.call('POST', '/fork', { json: { restore_files: 'perhaps' } })).status, 422);
  assert.equal((await new Conversation(randomUUID()).call('GET', '/checkpoints')).status, 404);
});
