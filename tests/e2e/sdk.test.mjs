// The official Python SDK, as published, used as in its documentation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { Conversation } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { killAndAwait, killEverything } from './support/processes.mjs';
import { Sdk } from './support/sdk.mjs';

const TOOLS = ['terminal', 'file_editor', 'task_tracker'];

let fake;
let sdk;

before(async () => {
  fake = await startModel();
  sdk = await Sdk.start(fake);
});

after(async () => {
  await sdk?.stop();
  assert.deepEqual(fake.violations, [], 'every request to the model was one that a strict provider takes');
  await fake.close();
});

/** Ids of a conversation's stored events, in order. */
const storedIds = async (id) => (await new Conversation(id).events()).map((event) => event.id);

const command = (line, more = {}) => ({ name: 'terminal', arguments: { command: line, security_risk: 'LOW', summary: 's', ...more } });

test('agent-server 60: an agent runs a message in a conversation', async () => {
  const seen = await sdk.play('talk.whole');
  assert.equal(seen.status, 'finished');
  assert.ok(seen.cost > 0, `${seen.cost}`);
  assert.ok(seen.prompt_tokens > 1000);
  assert.deepEqual(seen.calls, ['file_editor', 'terminal', 'task_tracker', 'think', 'finish']);
  assert.deepEqual(seen.results, seen.calls, 'each action has its observation');
  assert.ok(seen.order, 'events are in the order of their times');
  assert.equal(seen.calls_later, 2 * seen.calls.length);
  assert.equal((await call('GET', `/api/conversations/${seen.id}`)).status, 404, 'close deletes, as the SDK does by default');
});

test('agent-server 61: attaches to an existing conversation', async () => {
  assert.deepEqual(await sdk.play('returning.again', {}, { answers: { 'stored ids': storedIds } }), {
    history: true, more: true, attached: true, agent: 'Agent', end: 'finished',
  });
});

test('starts a conversation with the client\'s id, and one by a complete request', async () => {
  assert.deepEqual(await sdk.play('returning.new_by_id'), { same: true, end: 'finished' });
  const answers = { info: (id) => must(200, 'GET', `/api/conversations/${id}`) };
  assert.deepEqual(await sdk.play('returning.by_request', {}, { answers }), { max_iterations: 7, tags: { team: 'core' }, end: 'finished' });
});

test('agent-server 85: a process without tools attaches to a conversation with tools', async () => {
  const sent = { terminal: 'openhands.tools.terminal.definition' };
  const conversation = await Conversation.start(fake, 'hello', { tool_module_qualnames: sent });
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
  const { tool_module_qualnames: told } = await conversation.info();
  assert.deepEqual(told, {
    ...sent, file_editor: 'openhands.tools.file_editor.definition', task_tracker: 'openhands.tools.task_tracker.definition',
  });
  const other = await Sdk.start(fake);
  const seen = await other.play('returning.unprepared', { conversation_id: conversation.id });
  assert.deepEqual(seen.tools, TOOLS);
  assert.equal(seen.kinds.filter((kind) => kind === 'ActionEvent').length, 5);
  assert.deepEqual(await other.play('returning.importable', { modules: Object.values(told) }), Object.values(told));
  await other.stop();
  assert.equal(await conversation.delete(), 200);
});

/** The SDK's messages for a command that takes too long and a missing file. */
const TOLD = { expected: [/Command timed out after 1 seconds/, /file download failed: .*404 Not Found/] };

/** The expected results of a workspace of either kind. */
function assertWorked(seen, folder) {
  assert.equal(seen.alive, true);
  assert.equal(seen.title, 'OpenHands Agent Server');
  assert.deepEqual(seen.plain, [3, 'out\n', 'err\n', false]);
  assert.deepEqual(seen.where, [0, `${folder}\n`, '', false]);
  assert.equal(seen.late, -1);
  assert.notEqual(seen.stopped, 0);
  assert.deepEqual([seen.sent, seen.memory, seen.back], [[true, 200_000], [true, 16], [true, 200_000]]);
  assert.ok(seen.equal, 'what came back is what was sent');
  assert.equal(seen.read, 'from memory: ü\n');
  assert.equal(seen.missing, false);
}

function assertGit(seen) {
  assert.equal(seen.made[0], 0, seen.made[2]);
  assert.deepEqual(seen.changes, [['ADDED', 'b.txt'], ['DELETED', 'c.txt'], ['UPDATED', 'a.txt']]);
  assert.deepEqual(seen.diff, ['one', 'two']);
  assert.deepEqual(seen.gone, ['was', '']);
}

for (const kind of ['sync', 'async']) {
  const folder = `/workspace/${randomUUID()}`;

  test(`agent-server 62: the workspace of a key, ${kind}`, async () => {
    await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `mkdir -p ${folder}` } });
    assertWorked(await sdk.play('places.work', { kind, folder }, TOLD), folder);
    assertGit(await sdk.play('places.changes', { kind, folder }));
  });

  test(`agent-server 79: the workspace of a conversation, ${kind}`, async () => {
    const conversation = await Conversation.start(fake, 'text', {
      conversation_runtime: 'docker', workspace: { kind: 'LocalWorkspace', working_dir: folder },
    });
    const scope = { kind, folder, conversation_id: conversation.id };
    assertWorked(await sdk.play('places.work', scope, TOLD), folder);
    assertGit(await sdk.play('places.changes', scope));
    assert.equal(await conversation.delete(), 200);
  });

  test(`agent-server 75: a key for the sandbox, and its release, ${kind}`, async () => {
    const conversation = await Conversation.start(fake, 'text', { conversation_runtime: 'docker' });
    const other = await Conversation.start(fake, 'text', { conversation_runtime: 'docker' });
    const use = async (key) => {
      const pwd = { key, json: { command: 'pwd' } };
      assert.equal((await conversation.must(200, 'POST', '/bash/execute_bash_command', pwd)).exit_code, 0);
      assert.equal((await other.call('POST', '/bash/execute_bash_command', pwd)).status, 404);
    };
    await sdk.play('places.lends', { kind, conversation_id: conversation.id }, { answers: { 'use the key': use } });
    assert.equal((await conversation.must(200, 'GET', '/runtime')).runtime_status, 'missing');
    for (const one of [conversation, other]) assert.equal(await one.delete(), 200);
  });
}

test('a pause ends run(), and the next run() continues', async () => {
  const seen = await sdk.play('talk.pauses');
  assert.equal(seen.paused, 'paused');
  assert.ok(seen.kinds.includes('ObservationEvent') && seen.kinds.includes('PauseEvent'), seen.kinds.join());
  assert.equal(seen.end, 'finished');
});

test('an interrupt ends the command, and the next run() continues', async () => {
  const seen = await sdk.play('talk.interrupts');
  assert.equal(seen.interrupted, 'paused');
  assert.equal(seen.errors.length, 1);
  assert.equal(seen.end, 'finished');
});

test('a pause before the first message still sets up the agent\'s prompt and tools', async () => {
  const from = fake.requests.length;
  assert.deepEqual(await sdk.play('talk.rests_first'), {
    kinds: ['PauseEvent', 'SystemPromptEvent', 'MessageEvent', 'MessageEvent'], end: 'finished',
  });
  const step = fake.requests.slice(from).find(({ body }) => body.tools !== undefined);
  assert.equal(step?.body.messages[0].role, 'system');
});

test('calls of a client tool match its schema, others are refused', async () => {
  const show = (args) => ({ calls: [{ name: 'show_card', arguments: args }] });
  fake.setScenario('cards', [show({ title: 'T', n: 2, summary: 'shows it', security_risk: 'LOW' }), show({ n: 2 }), show({ title: 'T', n: 'many' }), { text: 'done' }]);
  assert.deepEqual(await sdk.play('talk.lends_tools', { scenario: 'cards' }), {
    actions: [{ title: 'T', n: 2 }, null, null], summaries: ['shows it', null, null], errors: ['show_card', 'show_card'], end: 'finished',
  });
});

test('each step waits for confirmation, and a rejected one is not run', async () => {
  assert.deepEqual(await sdk.play('talk.confirms'), {
    waiting: 'waiting_for_confirmation',
    rejected: ['not that file'],
    after_rejection: 'idle',
    steps: 1,
    end: 'finished',
    policy: 'AlwaysConfirm',
    policy_later: 'NeverConfirm',
  });
});

test('a risky step waits, another runs', async () => {
  fake.setScenario('risks', [
    { calls: [command('true', { security_risk: 'LOW' })] },
    { calls: [command('true', { security_risk: 'HIGH' })] },
    { text: 'done' },
  ]);
  assert.deepEqual(await sdk.play('talk.weighs'), {
    status: 'waiting_for_confirmation', risks: ['LOW', 'HIGH'], n_results: 1, analyzer: 'LLMSecurityAnalyzer', end: 'finished',
  });
});

test('agent-server 38: run() raises the model\'s error', async () => {
  const seen = await sdk.play('talk.fails', { scenario: 'err' });
  assert.equal(seen.status, 'error');
  assert.match(seen.text, /LLMAuthenticationError: \S/, 'the code and the detail of the run, or of the title that nobody could make');
});

test('agent-server 95: token callbacks get an answer piece by piece', async () => {
  const seen = await sdk.play('talk.streams');
  assert.deepEqual(seen.said, ['drop by drop']);
  assert.ok(seen.pieces.length > 1, `${seen.pieces.length} pieces`);
  assert.equal(seen.pieces.join(''), 'drop by drop');
});

test('agent-server 86: secrets reach the shell and no event', async () => {
  fake.setScenario('secrets', [{ calls: [command('echo $FIRST_TOKEN; echo $SECOND_TOKEN')] }, { text: 'done' }]);
  const seen = await sdk.play('talk.keeps_secrets');
  assert.deepEqual(seen.registered, ['FIRST_TOKEN', 'SECOND_TOKEN']);
  assert.equal(seen.shown.join('').match(/<secret-hidden>/g)?.length, 2, seen.shown.join(''));
  assert.doesNotMatch(seen.all, /value-of-the/);
  assert.doesNotMatch(JSON.stringify(fake.requests), /value-of-the/);
});

test('a conversation can be loaded again whatever values its secrets have', async () => {
  const words = ['x', 'text', 'Terminal', 'agent', 'MessageEvent', 'TerminalObservation', 'environment', 'terminal', 'assistant', 'create', '/workspace/project'];
  const file = `words-${randomUUID()}.txt`;
  fake.setScenario('words', [
    { text: 'to the Terminal', calls: [command('echo "Terminal x text agent"')] },
    { calls: [{ name: 'file_editor', arguments: { command: 'create', path: `/workspace/project/${file}`, file_text: 'x', security_risk: 'LOW', summary: 'a create' } }] },
    { text: 'a MessageEvent of text' },
  ]);
  const secrets = Object.fromEntries(words.map((word, i) => [`WORD_${i}`, word]));
  const seen = await sdk.play('returning.with_words_as_secrets', { secrets }, { answers: { 'stored ids': storedIds } });
  assert.equal(seen.end, 'finished');
  assert.ok(seen.same, 'the SDK reads each event that is stored');
  assert.deepEqual(seen.kinds.filter((kind) => kind !== 'ConversationStateUpdateEvent'),
    ['SystemPromptEvent', 'MessageEvent', 'ActionEvent', 'ObservationEvent', 'ActionEvent', 'ObservationEvent', 'MessageEvent']);
  assert.deepEqual(seen.said, ['a <secret-hidden> of text'], 'long ones are hidden in words, short ones are not');
  assert.match(seen.shown[0], /<secret-hidden> x text agent/);
});

test('agent-server 49: sockets that break during a run miss no event', async () => {
  const answers = { 'break the sockets': () => killAndAwait('gateway'), 'stored ids': storedIds };
  const seen = await sdk.play('talk.reconnects', {}, { answers });
  assert.equal(seen.status, 'finished');
  assert.deepEqual(seen.ids.filter((id) => seen.stored.includes(id)), seen.stored, 'the list of events is what is stored');
  assert.equal(new Set(seen.told).size, seen.told.length, 'no event is told twice');
  const first = seen.stored.indexOf(seen.told[0]);
  assert.deepEqual([...seen.told].sort(), seen.stored.slice(first).sort(), 'each event behind the first is told');
});

test('agent-server 42: a fork starts at its source\'s state, and is independent', async () => {
  const answers = { 'stored ids': storedIds };
  assert.deepEqual(await sdk.play('aside.forks', {}, { answers }), {
    copied: true, title: 'The fork', tags: { team: 'core' }, cost: 0, end: 'finished', untouched: true, part: true,
  });
});

test('agent-server 43: a side question adds nothing to the conversation', async () => {
  assert.deepEqual(await sdk.play('aside.asks'), { answer: 'just text', messages: ['go', 'just text'] });
});

test('a conversation is condensed on request', async () => {
  fake.setScenario('long', [{ text: 'words' }]);
  const seen = await sdk.play('aside.condenses');
  assert.equal(seen.summary, 'words');
  assert.ok(seen.forgotten > 0);
  assert.equal(seen.end, 'finished');
});

test('titles are set by the client\'s model and by hand', async () => {
  const answers = { info: (id) => must(200, 'GET', `/api/conversations/${id}`) };
  assert.deepEqual(await sdk.play('aside.names', {}, { answers }), { made: 'just text', kept: 'By hand' });
});

test('agent-server 90: all processes but the database are killed, and run() succeeds', async () => {
  const answers = { 'kill everything': killEverything };
  // A poll gets no connection, or nginx' own answer while deft-fcgi starts.
  const expected = [/Error polling status \(will retry\)/, /HTTP request failed \(503 .*deft is temporarily unavailable/];
  const seen = await sdk.play('talk.survives', { folder: `/workspace/${randomUUID()}` }, { answers, expected });
  assert.equal(seen.status, 'finished');
  assert.deepEqual(seen.calls, ['terminal', 'finish']);
  assert.deepEqual(seen.errors, []);
  assert.equal(seen.file, 'done\n', 'the command ran once');
  assert.equal(seen.end, 'finished');
});

test('agent-server 29: the SDK accepts every stored event', async () => {
  const kinds = new Set();
  fake.setScenario('reasons', [{ reasoning: 'First I think.', text: 'Then I look.', calls: [command('true')] }, { text: 'done' }]);
  for (const scenario of ['hello', 'badtool', 'parallel', 'err', 'reasons']) {
    const conversation = await Conversation.start(fake, scenario, {
      security_analyzer: { kind: 'LLMSecurityAnalyzer' }, workspace: { kind: 'LocalWorkspace', working_dir: `/workspace/${randomUUID()}` },
    });
    await conversation.must(200, 'POST', '/secrets', { json: { secrets: { TOKEN: 'of-no-worth' } } });
    assert.match(await conversation.ask('go'), /^(finished|error)$/, scenario);
    const events = await conversation.events();
    for (const event of events) kinds.add(event.kind);
    assert.deepEqual(await sdk.play('oracle.refused', { events }), [], scenario);
    await assertSound(conversation);
    assert.equal(await conversation.delete(), 200);
  }
  for (const kind of ['SystemPromptEvent', 'ActionEvent', 'ObservationEvent', 'AgentErrorEvent', 'ConversationErrorEvent', 'SecurityAnalysisEvent']) {
    assert.ok(kinds.has(kind), `${kind} was among them`);
  }
});
