// Hooks of a conversation: commands of the project that run at events of the agent, in its sandbox.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call as request } from './support/api.mjs';
import { isAction, isResult, observed, ofKind, startRequest, llmOf } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { fake, kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
/** A HookConfig with one command for an event. */
const on = (event, command, more = {}) => ({ hook_config: { [event]: [{ matcher: more.matcher ?? '*', hooks: [{ command, ...more.hook }] }] } });
const folder = () => `/workspace/${randomUUID()}`;
const inFolder = (dir) => ({ workspace: { kind: 'LocalWorkspace', working_dir: dir } });
const hooksOf = (events) => events.filter(ofKind('HookExecutionEvent'));
const lastTexts = (conversation) => requestsOf(conversation).at(-1).messages.map(textOf);

test('agent-loop 51: a hook before a call blocks it', async (t) => {
  const guard = 'case "$(cat)" in *forbidden*) echo "not allowed" >&2; exit 2;; esac';
  const conversation = await play(t, [{ calls: [terminal('touch forbidden; echo ran')] }, done], on('pre_tool_use', guard, { matcher: 'terminal' }));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), [
    'HookExecutionEvent terminal', 'ActionEvent terminal', 'UserRejectObservation terminal', 'MessageEvent agent', 'S(finished)',
  ]);
  const action = events.find(isAction('terminal'));
  const [hook] = hooksOf(events);
  const { id, timestamp, ...rest } = hook;
  assert.deepEqual(rest, {
    source: 'hook', kind: 'HookExecutionEvent', hook_event_type: 'PreToolUse', hook_command: guard, tool_name: 'terminal',
    success: true, blocked: true, exit_code: 2, stdout: '', stderr: 'not allowed\n', reason: 'not allowed',
    action_id: action.id, hook_input: { tool_name: 'terminal', tool_input: action.action },
  });
  assert.ok(id && timestamp < action.timestamp);
  const rejection = events.find(ofKind('UserRejectObservation'));
  assert.deepEqual([rejection.rejection_source, rejection.rejection_reason, rejection.action_id], ['hook', 'not allowed', action.id]);
  assert.match(lastTexts(conversation).at(-1), /^Action rejected: not allowed/);
  await assertSound(conversation);
});

test('of the calls of an answer only those run that no hook blocks, and each keeps its place', async (t) => {
  const guard = 'grep -q second && { echo "{\\"decision\\":\\"deny\\",\\"reason\\":\\"never\\"}"; }; true';
  const conversation = await play(t, [{ calls: ['first', 'second', 'third'].map((word) => terminal(`echo ${word}`)) }, done], on('pre_tool_use', guard));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(events.filter(isResult('terminal')).map(observed).map((text) => text.trim().split('\n')[0]), ['first', 'third']);
  assert.deepEqual(kindsOf(events).slice(3, 10), [...Array(3).fill(['HookExecutionEvent terminal', 'ActionEvent terminal']).flat(), 'UserRejectObservation terminal']);
  const { messages } = requestsOf(conversation).at(-1);
  assert.equal(messages.at(-4).tool_calls.length, 3);
  assert.deepEqual(messages.slice(-3).map(textOf).map((text) => text.split('\n')[0]), ['first', 'Action rejected: never', 'third']);
});

test('a finish that a hook blocks does not end the run', async (t) => {
  const conversation = await play(t, [{ calls: [finish] }, done], on('pre_tool_use', 'echo "tests first" >&2; exit 2', { matcher: 'fin.*' }));
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), [
    'HookExecutionEvent finish', 'ActionEvent finish', 'UserRejectObservation finish', 'MessageEvent agent', 'S(finished)',
  ]);
});

test('agent-loop 50: a stop hook continues a finished run', async (t) => {
  const dir = folder();
  const once = 'test -e asked || { touch asked; echo "run the tests" >&2; exit 2; }';
  const conversation = await play(t, [done, { text: 'tested' }], { ...on('stop', once), ...inFolder(dir) });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), [
    'MessageEvent agent', 'S(finished)', 'HookExecutionEvent', 'MessageEvent environment', 'S(running)', 'MessageEvent agent', 'S(finished)', 'HookExecutionEvent',
  ]);
  assert.deepEqual(hooksOf(events).map(({ hook_event_type: type, blocked, exit_code: code }) => [type, blocked, code]), [['Stop', true, 2], ['Stop', false, 0]]);
  assert.equal(textOf(events.find(({ kind, source }) => kind === 'MessageEvent' && source === 'environment').llm_message), '[Stop hook feedback] run the tests');
  assert.equal(requestsOf(conversation).length, 2);
  assert.equal(lastTexts(conversation).at(-1), '[Stop hook feedback] run the tests');
  assert.equal(await conversation.status(), 'finished');
  await assertSound(conversation);
});

test('a stop hook is asked after a finish call, too, but not in the last iteration', async (t) => {
  const refuse = on('stop', 'echo more >&2; exit 2');
  const asked = await play(t, [{ calls: [finish] }, { calls: [finish] }, { calls: [finish] }], { ...refuse, max_iterations: 3 });
  assert.equal(await asked.ask('go'), 'finished');
  assert.equal(hooksOf(await asked.events()).length, 2);
  assert.equal(requestsOf(asked).length, 3);
});

test('a message that comes while a stop hook runs is answered', async (t) => {
  const dir = folder();
  const hook = 'test -e said || { touch said; until [ -e heard ]; do sleep 0.1; done; }';
  const conversation = await play(t, [{ text: 'one' }, { text: 'two' }], { ...on('stop', hook), ...inFolder(dir) });
  const socket = await conversation.socket();
  try {
    await socket.frame((event) => event.key === 'full_state', 'the first snapshot');
    await conversation.say('first', true);
    await socket.frame((event) => event.key === 'execution_status' && event.value === 'finished', 'the first answer is stored');
    await conversation.say('second', true);
    assert.equal((await request('POST', '/api/bash/execute_bash_command', { json: { command: `touch ${dir}/heard` } })).status, 200);
    await waitUntil(() => requestsOf(conversation).length === 2, 'the model is asked again');
    await conversation.event(ofKind('HookExecutionEvent'), 'the hook of the second answer');
  } finally {
    await socket.close();
  }
  assert.equal(lastTexts(conversation).at(-1), 'second');
  assert.deepEqual(hooksOf(await conversation.events()).map(({ success }) => success), [true], 'the first answer was not the end');
  await assertSound(conversation);
});

test('a hook after a call reads its result, and adds to it', async (t) => {
  const conversation = await play(t, [{ calls: [terminal('echo a-result')] }, done], on('post_tool_use', 'grep -o a-result | head -1 >&2; echo "{\\"additionalContext\\":\\"mind the result\\",\\"decision\\":\\"deny\\"}"; exit 2', { matcher: '/terminal|other/' }));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'HookExecutionEvent terminal', 'ObservationEvent terminal', 'MessageEvent agent', 'S(finished)']);
  const [hook] = hooksOf(events);
  assert.deepEqual([hook.hook_event_type, hook.blocked, hook.stderr, hook.action_id], ['PostToolUse', false, 'a-result\n', events.find(isAction('terminal')).id]);
  assert.equal(hook.hook_input.tool_response.kind, 'TerminalObservation');
  assert.deepEqual(events.find(isResult('terminal')).extended_content.map(({ text }) => text), ['mind the result']);
  assert.match(lastTexts(conversation).at(-1), /a-result[^]*mind the result$/);
});

test('a message\'s hook adds context for the model, once per message', async (t) => {
  const conversation = await play(t, [{ text: 'one' }, { text: 'two' }], on('user_prompt_submit', 'echo "{\\"additionalContext\\":\\"the branch is $(cat | tr -dc 0-9 | tail -c 2)\\"}"', { matcher: 'any' }));
  assert.equal(await conversation.ask('say 41'), 'finished');
  assert.equal(await conversation.ask('say 42'), 'finished');
  const events = await conversation.events();
  const messages = events.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  const hooks = hooksOf(events);
  assert.deepEqual(hooks.map(({ hook_event_type: type, message_id: id, hook_input: input }) => [type, id, input]), [
    ['UserPromptSubmit', messages[0].id, { message: 'say 41' }], ['UserPromptSubmit', messages[1].id, { message: 'say 42' }],
  ]);
  const [first, second] = requestsOf(conversation);
  assert.match(textOf(first.messages.at(-1)), /^say 41the branch is \d\d$/);
  assert.deepEqual(second.messages.slice(0, 2), first.messages.slice(0, 2).map((message) => ({ ...message })), 'the beginning stays as it was');
  assert.match(textOf(second.messages.at(-1)), /^say 42the branch is \d\d$/);
});

test('a blocked message ends the run without a model call, and the next one starts anew', async (t) => {
  const conversation = await play(t, [done], on('user_prompt_submit', 'grep -q password && { echo "no passwords here" >&2; exit 2; }; true'));
  assert.equal(await conversation.ask('my password is x'), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()).slice(1), ['MessageEvent user', 'S(running)', 'HookExecutionEvent', 'S(finished)']);
  assert.equal(requestsOf(conversation).length, 0);
  assert.equal(await conversation.ask('hello'), 'finished');
  assert.equal(requestsOf(conversation).length, 1);
  assert.equal((await conversation.info()).agent_state.prompt_hooks, undefined, 'the worker\'s own notes are hidden');
});

test('a session\'s hook runs once, and its context is read by the model', async (t) => {
  const conversation = await play(t, [{ text: 'one' }, { text: 'two' }], { hook_config: { SessionStart: [{ hooks: [{ command: 'echo "{\\"additionalContext\\":\\"use make\\"}"' }] }] } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(await conversation.ask('again'), 'finished');
  assert.equal(hooksOf(await conversation.events()).length, 1);
  assert.match(textOf(requestsOf(conversation)[0].messages.at(-1)), /^gouse make$/);
  assert.equal((await conversation.info()).hook_config.session_start.length, 1, 'by its own name');
});

test('a hook knows its event, its place and its session', async (t) => {
  const dir = folder();
  const conversation = await play(t, [{ calls: [terminal('cat said.json; cat env')] }, done], {
    ...on('pre_tool_use', 'cat > said.json; pwd > env; env | grep ^OPENHANDS_ | sort >> env'), ...inFolder(dir),
  });
  assert.equal(await conversation.ask('go'), 'finished');
  const output = observed((await conversation.events()).find(isResult('terminal')));
  const said = JSON.parse(output.slice(0, output.indexOf('}' + dir) + 1));
  assert.deepEqual(said, {
    event_type: 'PreToolUse', tool_name: 'terminal', tool_input: said.tool_input, tool_response: null, message: null, session_id: conversation.id, working_dir: dir, metadata: {},
  });
  assert.equal(said.tool_input.command, 'cat said.json; cat env');
  for (const line of [dir, `OPENHANDS_PROJECT_DIR=${dir}`, `OPENHANDS_SESSION_ID=${conversation.id}`, 'OPENHANDS_EVENT_TYPE=PreToolUse', 'OPENHANDS_TOOL_NAME=terminal']) assert.ok(output.includes(line), line);
});

test('hooks that fail, hang, or print too much block nothing, and say what was wrong', async (t) => {
  const hooks = [
    { command: 'echo broken >&2; exit 3' }, { command: 'sleep 600', timeout: 1 }, { command: 'yes | head -c 50000000' }, { command: '' },
    { type: 'agent', name: 'reviewer' }, { command: 'printf "\\377\\000"' }, { command: 'sleep 600', async: true },
  ];
  const conversation = await play(t, [{ calls: [terminal('echo ran')] }, done], { hook_config: { pre_tool_use: [{ matcher: '(', hooks: [{ command: 'exit 2' }] }, { hooks }] } });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const [failed, late, loud, empty, unknown, odd, aside] = hooksOf(events);
  assert.deepEqual([failed.success, failed.blocked, failed.exit_code, failed.stderr], [false, false, 3, 'broken\n']);
  assert.deepEqual([late.success, late.exit_code, late.error], [false, -1, 'The hook took longer than 1 seconds and was ended.']);
  assert.deepEqual([loud.success, loud.stdout.length], [true, 50000]);
  assert.deepEqual([empty.success, empty.error], [false, 'The hook has no command.']);
  assert.deepEqual([unknown.success, unknown.hook_command], [false, 'reviewer']);
  assert.equal(unknown.error, 'The hook has no prompt.');
  assert.equal(odd.success, true);
  assert.deepEqual([aside.success, aside.exit_code], [true, 0]);
  assert.match(observed(events.find(isResult('terminal'))), /^ran/);
});

test('a secret that a hook prints is hidden', async (t) => {
  const secret = `s3cret-${randomUUID()}`;
  const conversation = await play(t, [{ calls: [terminal(`echo ${secret.slice(0, 4)}`)] }, done], {
    ...on('pre_tool_use', `printf '%s%s' ${secret.slice(0, 10)} ${secret.slice(10)}; printf '%s%s' ${secret.slice(0, 10)} ${secret.slice(10)} >&2`), secrets: { TOKEN: secret },
  });
  assert.equal(await conversation.ask('go'), 'finished');
  const [hook] = hooksOf(await conversation.events());
  assert.deepEqual([hook.stdout, hook.stderr], ['<secret-hidden>', '<secret-hidden>']);
});

test('a run without tools for a sandbox has one for its hooks', async (t) => {
  const conversation = await play(t, [done], { ...on('stop', 'exit 0'), tools: ['task_tracker'] });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(hooksOf(await conversation.events()).map(({ success }) => success), [true]);
});

test('unknown events and members of a hook configuration are refused in words', async () => {
  const start = (config) => request('POST', '/api/conversations', { json: startRequest(llmOf(fake, 'none'), { hook_config: config }) });
  for (const config of [{ before_tool: [] }, { stop: [{ hooks: [{ type: 'shell', command: 'x' }] }] }, { hooks: { stop: 1 } }, { stop: [{ hooks: Array(65).fill({ command: 'x' }) }] }, []]) {
    const { status, json } = await start(config);
    assert.equal(status, 422, JSON.stringify(json));
    assert.ok(json.detail[0].loc.includes('hook_config'), JSON.stringify(json.detail));
  }
});

/** A HookConfig with one hook for an event, and a scenario in which its model plays the first steps. */
const asking = (event, hook) => ({ hook_config: { [event]: [{ matcher: '*', hooks: [hook] }] } });
const askedBy = (ofHook, ofAgent) => ({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const steps = textOf(messages[last]).includes('RULE') ? ofHook : ofAgent;
  return steps[messages.slice(last).filter(({ role }) => role === 'assistant').length];
};
const usageOf = async (conversation) => Object.keys((await conversation.info()).stats.usage_to_metrics).sort();

test('a hook of the type prompt asks the model, whose verdict blocks a call', async (t) => {
  const verdict = JSON.stringify({ decision: 'deny', reason: 'not allowed' });
  const conversation = await play(t, askedBy([{ text: verdict }], [{ calls: [terminal('touch forbidden')] }, done]), {
    ...asking('pre_tool_use', { type: 'prompt', name: 'guard', prompt: 'RULE: nothing is forbidden' }), secrets: { WORD: 'opensesame' },
  });
  assert.equal(await conversation.ask('go opensesame'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), [
    'HookExecutionEvent terminal', 'ActionEvent terminal', 'UserRejectObservation terminal', 'MessageEvent agent', 'S(finished)',
  ]);
  const [hook] = hooksOf(events);
  assert.deepEqual([hook.hook_command, hook.stdout, hook.blocked, hook.success, hook.reason, hook.exit_code], ['guard', verdict, true, true, 'not allowed', 0]);
  assert.deepEqual(await usageOf(conversation), ['agent', 'prompt-hook:guard']);
  const question = requestsOf(conversation).find(({ messages }) => textOf(messages.at(-1)).includes('RULE'));
  assert.equal(question.tools, undefined);
  assert.match(textOf(question.messages.at(-1)), /RULE: nothing is forbidden[^]*"event_type":"PreToolUse"[^]*touch forbidden/);
  await assertSound(conversation);
});

test('a hook of the type agent reads files of the workspace before its verdict, and only reads', async (t) => {
  const dir = folder();
  const read = { name: 'read_file', arguments: { file_path: `${dir}/CHANGES.md`, summary: 's' } };
  const verdict = JSON.stringify({ decision: 'deny', reason: 'name the change' });
  const verdicts = [verdict, '{"decision": "allow"}'];
  const reading = { calls: [terminal('touch written'), read] };
  const ofHook = { 0: reading, get 1() { return { text: verdicts.shift() }; } };
  const conversation = await play(t, askedBy(ofHook, [{ calls: [terminal('echo nothing > CHANGES.md')] }, done]),
  { ...asking('stop', { type: 'agent', name: 'review', prompt: 'RULE: name the change', tools: ['read_file', 'terminal'] }), ...inFolder(dir) });
  assert.equal(await conversation.ask('go'), 'finished');
  const [hook] = hooksOf(await conversation.events());
  assert.deepEqual([hook.hook_event_type, hook.blocked, hook.reason], ['Stop', true, 'name the change']);
  assert.deepEqual(await usageOf(conversation), ['agent', 'agent-hook:review']);
  const questions = requestsOf(conversation).filter(({ messages }) => messages.some((message) => textOf(message).includes('RULE')));
  assert.deepEqual(questions[0].tools.map((tool) => tool.function.name), ['read_file']);
  const [refused, content] = questions[1].messages.filter(({ role }) => role === 'tool').map(textOf);
  assert.match(refused, /There is no tool 'terminal' here/);
  assert.match(content, /nothing/);
  const { status } = await request('GET', `${conversation.path}/file/download`, { query: { path: `${dir}/written` } });
  assert.equal(status, 404);
  await assertSound(conversation);
});

test('a model that gives no verdict blocks nothing', async (t) => {
  const conversation = await play(t, askedBy([{ text: 'never' }], [{ calls: [terminal('echo ran')] }, done]),
    asking('pre_tool_use', { type: 'prompt', prompt: 'RULE: nothing' }));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.equal(hooksOf(events)[0].error, "The model's answer is no verdict.");
  assert.match(observed(events.find(isResult('terminal'))), /ran/);
});
