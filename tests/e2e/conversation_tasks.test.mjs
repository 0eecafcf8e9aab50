// The tool task: a sub-agent works in its caller's sandbox, the caller waits and gets one result.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Conversation, isAction, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { assertSound, execute, query } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const PART = 'do the part';
const fake = await strictModel();

const taskCall = (more = {}) => ({ name: 'task', arguments: { prompt: PART, security_risk: 'LOW', summary: 's', ...more } });

/** A scenario whose steps depend on the user's last message; '' is the default. */
function play(parts) {
  const name = `tasks-${randomUUID()}`;
  fake.setScenario(name, ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const said = JSON.stringify(messages[last].content);
    const part = Object.keys(parts).find((words) => words !== '' && said.includes(words)) ?? '';
    return parts[part][messages.slice(last).filter(({ role }) => role === 'assistant').length];
  });
  return name;
}

/** A running conversation in its own folder, whose agent may call sub-agents. */
async function begin(t, parts, { key, ...more } = {}) {
  const name = play(parts);
  const folder = `/workspace/${randomUUID()}`;
  const request = startRequest(llmOf(fake, name), { tools: ['terminal', 'task_tool_set'], workspace: { kind: 'LocalWorkspace', working_dir: folder }, ...more });
  const parent = await Conversation.create(request, { key });
  Object.assign(parent, { folder, model: name });
  t.after(() => parent.delete());
  await parent.say('go', true);
  return parent;
}

/** Resolves with the conversation's one child. */
const childOf = (parent) => waitUntil(async () => {
  const [id] = (await parent.info()).sub_conversation_ids;
  return id !== undefined && new Conversation(id, parent.options.key);
}, 'there is a sub-agent');

const fileOf = async ({ folder, ...parent }, name) => (await Conversation.prototype.call.call(parent, 'GET', '/file/download', { query: { path: `${folder}/${name}` } }));
const appeared = (parent, name) => waitUntil(async () => (await fileOf(parent, name)).status === 200, `${name} is there`);

/** Resolves when the worker has read the request to pause: one statement renews its lease and reads that. */
async function heardOfPause({ id }) {
  const look = async () => (await query("SELECT stop_requested, lease_expires_at FROM conversations WHERE id = :'id'::uuid", { id }))[0];
  const asked = await waitUntil(async () => {
    const row = await look();
    return row.stop_requested === 'pause' && row;
  }, 'a pause is asked of the sub-agent');
  await waitUntil(async () => (await look()).lease_expires_at !== asked.lease_expires_at, 'its worker has heard of it');
}

const resultsOf = async (parent) => (await parent.events()).filter(isResult('task'));

test('agent-server 56: a task is done by a sub-agent, and returned as one result', async (t) => {
  const parent = await begin(t, {
    [PART]: [{ calls: [terminal('echo part >> f; cd /; HERE=child')] }, { calls: [{ name: 'finish', arguments: { message: 'the part is done' } }] }],
    '': [{ calls: [terminal('HERE=parent')] }, { calls: [taskCall({ description: 'the part' })] }, { calls: [terminal('cat f; echo $HERE; pwd')] }, { text: 'all done' }],
  });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  const child = await childOf(parent);
  const events = await parent.events();
  assert.deepEqual(events.find(isAction('task')).action, { description: 'the part', prompt: PART, subagent_type: 'general-purpose', kind: 'TaskAction' });
  const [result, ...more] = events.filter(isResult('task'));
  assert.deepEqual(more, []);
  assert.deepEqual(result.observation, {
    content: [{ type: 'text', text: 'the part is done', cache_prompt: false }], is_error: false, task_id: 'task_00000001', subagent: 'general-purpose', status: 'completed',
    kind: 'TaskObservation',
  });
  assert.equal(observed(events.filter(isResult('terminal')).at(-1)), `part\nparent\n${parent.folder}`, 'the same files, other shells');
  const asked = fake.requests.filter(({ body }) => body.model === parent.model).map(({ body }) => body);
  assert.deepEqual(new Set(asked.map((body) => body.prompt_cache_key)), new Set([parent.id]));
  const { parameters, description } = asked[0].tools.find((tool) => tool.function.name === 'task').function;
  assert.deepEqual([Object.keys(parameters.properties), parameters.required], [['security_risk', 'summary', 'description', 'prompt', 'subagent_type', 'resume'], ['prompt']]);
  for (const kind of ['general-purpose', 'code-explorer', 'bash-runner']) assert.match(description, new RegExp(`\\n- ${kind}: `));
  const told = asked.at(-1).messages.filter(({ role }) => role === 'tool')[1];
  assert.match(JSON.stringify(told.content), /\[Task: task_00000001, sub-agent: general-purpose, status: completed\]\\nthe part is done/);
  const info = await child.info();
  assert.deepEqual([info.parent_conversation_id, info.title, info.execution_status], [parent.id, 'the part', 'finished']);
  const { usage_to_metrics: costs } = (await parent.info()).stats;
  assert.deepEqual([Object.keys(costs).sort(), costs['task:task_00000001'].accumulated_token_usage.completion_tokens], [['agent', 'task:task_00000001'], 40]);
  await assertSound(parent, child);
});

test('a definition sets prompt and tools, not the model; an unknown one is reported with the known ones', async (t) => {
  const definition = { name: 'tester', description: 'Runs tests', system_prompt: 'You test.', tools: ['terminal'], model: 'somebody-elses-profile', max_iteration_per_run: 7 };
  const parent = await begin(t, {
    [PART]: [{ text: 'tested' }],
    '': [{ calls: [taskCall({ subagent_type: 'wizard' })] }, { calls: [taskCall({ subagent_type: 'tester' })] }, { text: 'all done' }],
  }, { agent_definitions: [definition] });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  const [refused, result] = await resultsOf(parent);
  assert.deepEqual([refused.observation.is_error, refused.observation.status, refused.observation.task_id], [true, 'error', 'unknown']);
  assert.match(observed(refused), /"wizard"[^]*- tester: Runs tests\n- general-purpose: /);
  assert.deepEqual([observed(result), result.observation.subagent], ['tested', 'tester']);
  const { agent, max_iterations: limit } = await (await childOf(parent)).info();
  assert.deepEqual([agent.llm.model, agent.tools.map(({ name }) => name), limit], [`openai/${parent.model}`, ['terminal'], 7]);
  assert.match(agent.agent_context.system_message_suffix, /sub-agent[^]*You test\.$/);
});

test('a task is resumed by its id, with its sub-agent\'s history', async (t) => {
  const parent = await begin(t, {
    [PART]: [{ text: 'half' }],
    'the rest': [{ text: 'whole' }],
    '': [{ calls: [taskCall()] }, { calls: [taskCall({ prompt: 'the rest', resume: 'task_00000001' })] }, { calls: [taskCall({ resume: 'task_00000002' })] }, { text: 'all done' }],
  });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  const results = (await resultsOf(parent)).map((result) => [result.observation.task_id, result.observation.status, observed(result)]);
  assert.deepEqual(results, [
    ['task_00000001', 'completed', 'half'], ['task_00000001', 'completed', 'whole'], ['task_00000002', 'error', 'There is no task with that id to resume.'],
  ]);
  const child = await childOf(parent);
  assert.equal((await child.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').length, 2);
  await assertSound(parent, child);
});

test('a pause reaches the sub-agent, which continues with its parent, and its command runs once', async (t) => {
  const parent = await begin(t, {
    [PART]: [{ calls: [terminal('touch begun; until [ -e go ]; do sleep 0.1; done; echo part >> f')] }, { text: 'the part is done' }],
    '': [{ calls: [taskCall()] }, { text: 'all done' }],
  });
  await appeared(parent, 'begun');
  const child = await childOf(parent);
  const pausing = parent.must(200, 'POST', '/pause');
  await heardOfPause(child);
  await waitUntil(async () => (await parent.call('POST', '/bash/execute_bash_command', { json: { command: 'touch go', cwd: parent.folder } })).status === 200, 'the command may go on');
  await pausing;
  assert.deepEqual([await parent.rest(['paused']), await child.rest(['paused'])], ['paused', 'paused']);
  assert.deepEqual(await resultsOf(parent), []);
  await parent.run();
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  assert.deepEqual((await resultsOf(parent)).map(observed), ['the part is done']);
  assert.equal((await fileOf(parent, 'f')).text, 'part\n');
  await assertSound(parent, child);
});

const slow = () => ({ [PART]: [{ calls: [terminal('touch begun; sleep 300')] }, { text: 'late' }], '': [{ calls: [taskCall()] }, { text: 'all done' }] });

test('an interrupt ends call and sub-agent at once', async (t) => {
  const parent = await begin(t, slow());
  await appeared(parent, 'begun');
  const child = await childOf(parent);
  await parent.must(200, 'POST', '/interrupt');
  assert.deepEqual([await parent.rest(['paused']), await child.rest(['paused'])], ['paused', 'paused']);
  const ends = (await parent.events()).filter(({ kind, tool_name: tool }) => kind !== 'ActionEvent' && tool === 'task');
  assert.deepEqual(ends.map(({ kind }) => kind), ['AgentErrorEvent']);
  await assertSound(parent, child);
});

test('a stopped and a deleted sub-agent are reported to the parent with a message', async (t) => {
  const ways = { '/interrupt': ['POST', /The sub-agent was stopped/], '': ['DELETE', /The sub-agent's conversation was deleted/] };
  for (const [path, [method, words]] of Object.entries(ways)) {
    const parent = await begin(t, slow());
    await appeared(parent, 'begun');
    await (await childOf(parent)).must(200, method, path);
    assert.equal(await parent.rest(['finished', 'error']), 'finished');
    const [result] = await resultsOf(parent);
    assert.deepEqual([result.observation.is_error, result.observation.status], [true, 'error']);
    assert.match(observed(result), words);
    await assertSound(parent);
  }
});

test('a sub-agent is deleted with its parent', async (t) => {
  const parent = await begin(t, slow());
  await appeared(parent, 'begun');
  const child = await childOf(parent);
  assert.equal(await parent.delete(), 200);
  assert.equal((await child.call('GET')).status, 404);
});

test('one run slot is enough for an agent and nested sub-agents, three deep', async (t) => {
  const user = await newUser();
  await execute(`UPDATE users SET run_slots = 1, run_queue = 0 WHERE id = :'id'`, user);
  const parent = await begin(t, { '': [{ calls: [taskCall({ subagent_type: 'manager' })] }, { text: 'told' }] }, {
    key: user.key, agent_definitions: [{ name: 'manager', tools: ['task_tool_set'] }],
  });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  let line = parent;
  for (let depth = 1; depth <= 3; depth++) line = await childOf(line);
  assert.deepEqual((await line.info()).sub_conversation_ids, []);
  assert.match(observed((await resultsOf(line))[0]), /at most 3 deep/);
});

test('a sub-agent\'s actions are confirmed by the call that creates it', async (t) => {
  const parent = await begin(t, { [PART]: [{ calls: [terminal('true')] }, { text: 'the part is done' }], '': [{ calls: [taskCall()] }, { text: 'all done' }] }, {
    security_analyzer: { kind: 'LLMSecurityAnalyzer' }, confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
  });
  assert.equal(await parent.rest(['waiting_for_confirmation']), 'waiting_for_confirmation');
  assert.deepEqual((await parent.info()).sub_conversation_ids, []);
  await parent.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: true } });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  assert.deepEqual((await resultsOf(parent)).map(observed), ['the part is done']);
});

/** Two sub-agents that run at once: each waits for the file that the other one makes. */
const TOGETHER = {
  'part one': [{ calls: [terminal('touch one; until [ -e two ]; do sleep 0.1; done')] }, { text: 'one is done' }],
  'part two': [{ calls: [terminal('touch two; until [ -e one ]; do sleep 0.1; done')] }, { text: 'two is done' }],
};

test('sub-agents of one answer run at once; their results are read in the order of the calls', async (t) => {
  const parent = await begin(t, {
    ...TOGETHER, '': [{ calls: [taskCall({ prompt: 'part one' }), taskCall({ prompt: 'part two' })] }, { text: 'all done' }],
  }, { atOnce: 2 });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  assert.deepEqual((await resultsOf(parent)).map(observed).sort(), ['one is done', 'two is done']);
  const asked = fake.requests.filter(({ body }) => body.model === parent.model).map(({ body }) => body.messages.filter(({ role }) => role === 'tool'));
  const told = asked.find((tools) => JSON.stringify(tools).includes('task_0000'));
  assert.deepEqual(told.map(({ content }) => /(one|two) is done/.exec(JSON.stringify(content))[1]), ['one', 'two']);
  const { usage_to_metrics: costs } = (await parent.info()).stats;
  assert.deepEqual(Object.keys(costs).sort(), ['agent', 'task:task_00000001', 'task:task_00000002']);
  await assertSound(parent);
});

test('delegate gives named sub-agents work at once and returns the answers of all', async (t) => {
  const delegate = (args) => ({ name: 'delegate', arguments: { security_risk: 'LOW', summary: 's', ...args } });
  const parent = await begin(t, {
    ...TOGETHER,
    '': [
      { calls: [delegate({ command: 'spawn', ids: ['a', 'b'], agent_types: ['bash-runner'] })] },
      { calls: [delegate({ command: 'delegate', tasks: { a: 'part one', b: 'part two' } })] },
      { calls: [delegate({ command: 'delegate', tasks: { c: 'part one' } })] }, { text: 'all done' },
    ],
  }, { tools: ['terminal', 'delegate'] });
  assert.equal(await parent.rest(['finished', 'error']), 'finished');
  const events = await parent.events();
  assert.deepEqual(events.find(isAction('delegate')).action, { command: 'spawn', ids: ['a', 'b'], agent_types: ['bash-runner'], kind: 'DelegateAction' });
  const [spawned, answered, refused] = events.filter(isResult('delegate')).map(({ observation }) => observation);
  assert.deepEqual([spawned.kind, spawned.command, spawned.is_error], ['DelegateObservation', 'spawn', false]);
  assert.deepEqual(answered, {
    content: [{ type: 'text', text: '[Sub-agent: a, status: completed]\none is done\n\n[Sub-agent: b, status: completed]\ntwo is done', cache_prompt: false }],
    is_error: false, command: 'delegate', kind: 'DelegateObservation',
  });
  assert.deepEqual([refused.is_error, refused.content[0].text], [true, 'There is no sub-agent with the id "c": spawn it first.']);
  const info = await parent.info();
  assert.deepEqual(Object.keys(info.stats.usage_to_metrics).sort(), ['agent', 'delegate:a', 'delegate:b']);
  assert.equal(info.sub_conversation_ids.length, 2);
  assert.deepEqual(info.agent_state, {});
  await assertSound(parent);
});

test('an interrupt ends the calls of several sub-agents and all of them at once', async (t) => {
  const parent = await begin(t, {
    'part one': [{ calls: [terminal('touch one; sleep 300')] }], 'part two': [{ calls: [terminal('touch two; sleep 300')] }],
    '': [{ calls: [taskCall({ prompt: 'part one' }), taskCall({ prompt: 'part two' })] }],
  }, { atOnce: 2 });
  await appeared(parent, 'one');
  await appeared(parent, 'two');
  const children = (await parent.info()).sub_conversation_ids.map((id) => new Conversation(id));
  await parent.must(200, 'POST', '/interrupt');
  assert.deepEqual([await parent.rest(['paused']), ...await Promise.all(children.map((child) => child.rest(['paused'])))], ['paused', 'paused', 'paused']);
  const ends = (await parent.events()).filter(({ kind, tool_name: tool }) => kind !== 'ActionEvent' && tool === 'task');
  assert.deepEqual(ends.map(({ kind }) => kind), ['AgentErrorEvent', 'AgentErrorEvent']);
  await assertSound(parent, ...children);
});
