// Child conversations and worktrees.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Conversation, isAction, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { newUser } from './support/users.mjs';

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer' }]);

async function fresh(t, more = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, 'talk'), more));
  t.after(() => conversation.delete());
  return conversation;
}

/** A repository of its own in the shared sandbox. */
async function repository(t, commit = true) {
  const dir = `/workspace/worktrees-${randomUUID()}`;
  const make = `git init -q -b main ${dir} && cd ${dir} && git config user.name t && git config user.email t@example.test && echo one > f`;
  const command = commit ? `${make} && git add f && git commit -q -m one` : make;
  const done = await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command, cwd: '/workspace' } });
  assert.equal(done.exit_code, 0, done.stderr);
  t.after(() => call('POST', '/api/bash/execute_bash_command', { json: { command: `rm -rf ${dir}`, cwd: '/workspace' } }));
  return dir;
}

const branchOf = async (dir) => (await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: 'git branch --show-current', cwd: dir } })).stdout.trim();

async function childOf(t, parent, json) {
  const made = await parent.must(201, 'POST', '/children', { json });
  const child = new Conversation(made.conversation_id);
  t.after(() => child.delete());
  return { made, child };
}

test('agent-server 81: a child conversation runs its task with its parent\'s agent', async (t) => {
  const parent = await fresh(t, { tags: { team: 'core' }, secrets: { TOKEN: { kind: 'StaticSecret', value: 'swordfish' } } });
  const { made, child } = await childOf(t, parent, { task: 'say hi', title: 'Kid', isolation: 'shared' });
  assert.deepEqual(made, {
    conversation_id: child.id, parent_conversation_id: parent.id, status: 'idle', title: 'Kid', url: null, workspace: '/workspace/project', isolation: 'shared',
  });
  assert.equal(await child.rest(['finished', 'error']), 'finished');
  const info = await child.info();
  assert.equal(info.parent_conversation_id, parent.id);
  assert.deepEqual(info.tags, { team: 'core' });
  assert.deepEqual(Object.keys(info.secret_registry.secret_sources), ['TOKEN']);
  assert.deepEqual((await parent.info()).sub_conversation_ids, [child.id]);
  assert.equal(await parent.must(200, 'GET', '/events/count'), 0);
  const [message] = (await child.events()).filter(({ kind }) => kind === 'MessageEvent');
  assert.equal(message.llm_message.content[0].text, 'say hi');
  await assertSound(parent, child);
});

test('agent-server 81: a child with an empty task, an unknown parent or an unknown isolation is refused', async (t) => {
  const parent = await fresh(t);
  for (const json of [{ task: '' }, {}, { task: 'x', isolation: 'elsewhere' }, { task: 7 }]) {
    assert.equal((await parent.call('POST', '/children', { json })).status, 422, JSON.stringify(json));
  }
  const unknown = await new Conversation(randomUUID()).call('POST', '/children', { json: { task: 'x' } });
  assert.equal(unknown.status, 404);
  assert.deepEqual(unknown.json, { detail: 'Parent conversation not found' });
});

test('agent-server 81: children can be nested three deep, and outlive their parent', async (t) => {
  let line = await fresh(t);
  const [first] = [line];
  for (let depth = 1; depth <= 3; depth++) line = (await childOf(t, line, { task: 'x', isolation: 'shared' })).child;
  assert.equal((await line.call('POST', '/children', { json: { task: 'x', isolation: 'shared' } })).status, 422);
  const request = { ...startRequest(llmOf(fake, 'talk')), parent_conversation_id: line.id };
  assert.equal((await call('POST', '/api/conversations', { json: request })).status, 422, 'also by a start request');
  const [second] = (await first.info()).sub_conversation_ids;
  await first.delete();
  assert.equal((await must(200, 'GET', `/api/conversations/${second}`)).parent_conversation_id, null);
});

test('agent-server 81: a child gets a worktree, or shares the folder if there is no commit', async (t) => {
  const dir = await repository(t);
  const parent = await fresh(t, { workspace: { working_dir: dir } });
  const { made, child } = await childOf(t, parent, { task: 'x' });
  assert.equal(made.isolation, 'worktree');
  assert.equal((await child.info()).workspace.working_dir, made.workspace);
  assert.equal(await branchOf(made.workspace), `openhands/${child.id}`);
  const bare = await fresh(t, { workspace: { working_dir: await repository(t, false) } });
  assert.equal((await childOf(t, bare, { task: 'x' })).made.isolation, 'shared');
});

/** A conversation whose agent calls the tool with these arguments, and its child, which answers. */
async function started(t, args, more = {}) {
  const name = `starts-${randomUUID()}`;
  const asks = ({ messages }) => JSON.stringify(messages.findLast(({ role }) => role === 'user').content).includes(args.task);
  const steps = [{ calls: [{ name: 'start_child_conversation', arguments: { ...args, summary: 's', security_risk: 'LOW' } }] }, { text: 'handed on' }];
  fake.setScenario(name, (body) => (asks(body) ? { text: 'the part is done' } : steps[body.messages.at(-1).role === 'tool' ? 1 : 0]));
  const parent = await Conversation.create(startRequest(llmOf(fake, name), { tools: ['start_child_conversation'], ...more }));
  t.after(() => parent.delete());
  await parent.say('go', true);
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  const events = await parent.events();
  const [id] = (await parent.info()).sub_conversation_ids;
  const child = new Conversation(id);
  t.after(() => child.delete());
  assert.equal(await child.rest(['finished', 'error']), 'finished');
  return { parent, child, request: fake.requests.find(({ body }) => body.model === name).body, action: events.find(isAction('start_child_conversation')).action, result: events.find(isResult('start_child_conversation')) };
}

test('agent-server 81: the tool start_child_conversation does the same during a run', async (t) => {
  const { parent, child, request, action, result } = await started(t, { task: 'do the part', title: 'Part', isolation: 'shared' });
  const { parameters } = request.tools.find((tool) => tool.function.name === 'start_child_conversation').function;
  assert.deepEqual(Object.keys(parameters.properties), ['security_risk', 'summary', 'task', 'title', 'isolation']);
  assert.deepEqual(parameters.required, ['task']);
  assert.deepEqual(action, { task: 'do the part', title: 'Part', isolation: 'shared', kind: 'StartChildConversationAction' });
  const { content, ...members } = result.observation;
  assert.deepEqual(members, {
    is_error: false, conversation_id: child.id, parent_conversation_id: parent.id, status: 'idle', title: 'Part', workspace: '/workspace/project', isolation: 'shared',
    kind: 'StartChildConversationObservation',
  });
  assert.match(content[0].text, new RegExp(child.id));
  const info = await child.info();
  assert.deepEqual([info.parent_conversation_id, info.title], [parent.id, 'Part']);
  const [message] = (await child.events()).filter(({ kind }) => kind === 'MessageEvent');
  assert.equal(message.llm_message.content[0].text, 'do the part');
  await assertSound(parent, child);
});

test('agent-server 81: the tool gives the child a worktree, or returns a message if it cannot', async (t) => {
  const dir = await repository(t);
  const { child, result } = await started(t, { task: 'in a worktree' }, { workspace: { working_dir: dir } });
  assert.deepEqual([result.observation.isolation, result.observation.title], ['worktree', undefined]);
  assert.equal(await branchOf(result.observation.workspace), `openhands/${child.id}`);
  fake.setScenario('blank', [{ calls: [{ name: 'start_child_conversation', arguments: { task: ' ' } }] }, { text: 'no' }]);
  const parent = await Conversation.create(startRequest(llmOf(fake, 'blank'), { tools: ['StartChildConversationTool'] }));
  t.after(() => parent.delete());
  await parent.say('go', true);
  await parent.rest(['finished']);
  const refused = (await parent.events()).find(isResult('start_child_conversation'));
  assert.deepEqual([refused.observation.is_error, observed(refused)], [true, 'The task is empty.']);
  assert.deepEqual((await parent.info()).sub_conversation_ids, []);
});

test('agent-server 88: a start request may ask for a worktree', async (t) => {
  const dir = await repository(t);
  const conversation = await fresh(t, { workspace: { working_dir: dir }, worktree: true, worktree_options: { base: 'head', branch_prefix: 'me/' } });
  const { workspace } = await conversation.info();
  assert.notEqual(workspace.working_dir, dir);
  assert.equal(await branchOf(workspace.working_dir), `me/${conversation.id}`);
});

test('agent-server 88: a worktree that git refuses is reported', async (t) => {
  const dir = await repository(t);
  const request = (options, working_dir = dir) => ({ ...startRequest(llmOf(fake, 'talk')), workspace: { working_dir }, worktree: true, worktree_options: options });
  for (const options of [{ base: 'ref' }, { base: 'ref', ref: "x'; touch /tmp/y" }, { base: 'ref', ref: 'no-such-ref' }, { branch_prefix: '-x' }, { base: 'elsewhere' }, { more: 1 }]) {
    assert.equal((await call('POST', '/api/conversations', { json: request(options) })).status, 422, JSON.stringify(options));
  }
});

test('agent-server 88: a folder that is missing or not a repository is used without a worktree', async (t) => {
  for (const dir of ['/workspace', `/workspace/${randomUUID()}/it's new`]) {
    const conversation = await Conversation.create({ ...startRequest(llmOf(fake, 'talk')), workspace: { working_dir: dir }, worktree: true });
    t.after(() => conversation.delete());
    assert.equal((await conversation.info()).workspace.working_dir, dir);
  }
});

test('a reused conversation id does not lead into the sandbox of its previous owner', async (t) => {
  const parent = await fresh(t, { conversation_runtime: 'docker' });
  const file = { query: { path: '/workspace/project/mine.txt' } };
  assert.equal((await parent.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'echo mine > mine.txt' } })).exit_code, 0);
  const { child } = await childOf(t, parent, { task: 'x', isolation: 'shared' });
  await child.rest(['finished']);
  await parent.delete();
  const other = await newUser();
  const taken = await Conversation.create(startRequest(llmOf(fake, 'talk'), { conversation_runtime: 'docker', conversation_id: parent.id }), other);
  t.after(() => taken.delete());
  assert.equal((await taken.call('GET', '/file/download', file)).status, 404);
  assert.equal((await child.call('GET', '/file/download', file)).text, 'mine\n', 'it is still there for its owner');
});
