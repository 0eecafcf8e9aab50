// MCP servers keep their state from call to call: a program in all runs of a conversation, a stream within a run.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { start } from '../fakes/mcp.mjs';
import { PROGRAM } from '../fakes/mcp_program.mjs';
import { Box } from './support/box.mjs';
import { isResult, observed } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { play } from './support/loop.mjs';
import { waitUntil } from './support/wait.mjs';

const box = new Box();
const done = { text: 'done' };
const call = (name) => ({ name, arguments: {} });
const script = `${WORKING_DIR}/mcp-program-${randomUUID().slice(0, 8)}.py`;

/** A model that plays the steps one by one, over all runs. */
function inTurn(...steps) {
  let n = 0;
  return () => {
    const step = steps[Math.min(n++, steps.length - 1)];
    return typeof step === 'function' ? step() : step;
  };
}

before(() => box.upload(script, PROGRAM));

/** The configuration of the program, and the lines that it records. */
function program(env = {}) {
  const record = `${WORKING_DIR}/mcp-record-${randomUUID().slice(0, 8)}`;
  const lines = async () => {
    const { status, text } = await box.download(record);
    return status === 200 ? text.trim().split('\n') : [];
  };
  return { servers: { agent: { mcp_config: { here: { command: 'python3', args: [script], env: { RECORD: record, ...env } } } } }, lines };
}

const resultsOf = async (conversation, tool) => (await conversation.events()).filter(isResult(tool)).map((event) => observed(event).replace(`[Tool '${tool}' executed.]`, ''));
/** The same for `count`: {n, pid, key} of each. */
const countsOf = async (conversation) => (await resultsOf(conversation, 'count')).map((text) => {
  const [, n, pid, key] = /^(\d+) by (\d+) with (.*)$/.exec(text);
  return { n: Number(n), pid: Number(pid), key };
});
const isAlive = async (pid) => (await box.must(200, 'POST', '/bash/execute_bash_command', { json: { command: `kill -0 ${pid}` } })).exit_code === 0;

test('one process of a program has the calls of all runs, and ends with its conversation', async (t) => {
  const { servers, lines } = program();
  const conversation = await play(t, inTurn({ calls: [call('count')] }, { calls: [call('count')] }, done, { calls: [call('count')] }, done), servers);
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(await conversation.ask('again'), 'finished');
  const [{ pid }, ...others] = await countsOf(conversation);
  assert.deepEqual(others, [{ n: 2, pid, key: 'nothing' }, { n: 3, pid, key: 'nothing' }]);
  assert.deepEqual((await lines()).map((line) => line.replace(`${pid} `, '')), ['initialize', 'notifications/initialized', 'tools/list', ...Array(3).fill('tools/call count')]);
  await assertSound(conversation);

  const other = await play(t, [{ calls: [call('count')] }, done], servers);
  assert.equal(await other.ask('go'), 'finished');
  const [first] = await countsOf(other);
  assert.equal(first.n, 1, 'another conversation has its own');
  assert.notEqual(first.pid, pid);

  assert.ok(await isAlive(pid));
  assert.equal(await conversation.delete(), 200);
  await waitUntil(async () => !await isAlive(pid), 'the program has ended');
  assert.ok(await isAlive(first.pid));
});

test('a secret that changes begins another process', async (t) => {
  const { servers } = program({ KEY: '$COLOUR' });
  const conversation = await play(t, [{ calls: [call('count')] }, done], { ...servers, secrets: { COLOUR: { kind: 'StaticSecret', value: 'ultramarine' } } });
  assert.equal(await conversation.ask('go'), 'finished');
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { COLOUR: { kind: 'StaticSecret', value: 'vermilion-red' } } } });
  assert.equal(await conversation.ask('again'), 'finished');
  const [first, second] = await countsOf(conversation);
  assert.deepEqual([first.n, second.n], [1, 1]);
  assert.ok(![first.key, second.key].some((key) => /ultramarine|vermilion/.test(key)), 'values are masked');
  await waitUntil(async () => !await isAlive(first.pid), 'the former process has ended');
  assert.ok(await isAlive(second.pid));
});

test('an interrupt reaches the program, which goes on', async (t) => {
  const { servers, lines } = program();
  const conversation = await play(t, inTurn({ calls: [call('count')] }, { calls: [call('wait')] }, { calls: [call('count')] }, done), servers);
  await conversation.say('go', true);
  await waitUntil(async () => (await lines()).some((line) => line.endsWith('tools/call wait')), 'the program has the call');
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.rest(), 'paused');
  await waitUntil(async () => (await lines()).some((line) => /notifications\/cancelled \d+$/.test(line)), 'the program is told');
  assert.equal(await conversation.ask('go on'), 'finished');
  const [first, second] = await countsOf(conversation);
  assert.deepEqual(second, { ...first, n: 2 });
});

test('a program that ends during a call is the tool\'s error, and is there again for the next call', async (t) => {
  const { servers } = program();
  const conversation = await play(t, [{ calls: [call('count')] }, { calls: [call('die')] }, { calls: [call('count')] }, done], servers);
  assert.equal(await conversation.ask('go'), 'finished');
  const { error } = (await conversation.events()).find(({ kind }) => kind === 'AgentErrorEvent');
  assert.equal(error, 'The MCP server \'here\' failed: The program ended without a reply: its last words');
  const [first, second] = await countsOf(conversation);
  assert.equal(second.n, 1);
  assert.notEqual(first.pid, second.pid);
});

/** A server over HTTP that counts the calls of each session. */
async function counter(t) {
  const counts = {};
  const fake = await start({
    tools: [{ name: 'count', inputSchema: { type: 'object' } }],
    call: (params, id, session) => {
      counts[session] = (counts[session] ?? 0) + 1;
      return { content: [{ type: 'text', text: `${counts[session]} in ${session}` }] };
    },
  });
  t.after(() => fake.close());
  return fake;
}

test('a run has one stream of the older transport, which is opened again if it has ended', async (t) => {
  const fake = await counter(t);
  const drop = () => {
    fake.dropStreams();
    return { calls: [call('count')] };
  };
  const steps = inTurn({ calls: [call('count'), call('count')] }, { calls: [call('count')] }, done, { calls: [call('count')] }, drop, done);
  const conversation = await play(t, steps, { agent: { tool_concurrency_limit: 2, mcp_config: { old: { url: `${fake.url}/sse` } } } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(await resultsOf(conversation, 'count'), ['1 in 1', '2 in 1', '3 in 1']);
  assert.equal(await conversation.ask('again'), 'finished');
  assert.deepEqual((await resultsOf(conversation, 'count')).slice(3), ['1 in 2', '1 in 3']);
});

test('a server is told of the end of a session when its conversation is deleted', async (t) => {
  const fake = await counter(t);
  const conversation = await play(t, [{ calls: [call('count')] }, done], { agent: { mcp_config: { one: { url: `${fake.url}/mcp`, auth: { strategy: 'bearer', value: 'of-the-server' } } } } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(await conversation.delete(), 200);
  const ends = () => fake.requests.filter(({ method }) => method === 'DELETE');
  await waitUntil(() => ends().length === 1, 'the server is told');
  const [{ path, headers }] = ends();
  assert.deepEqual([path, headers['mcp-session-id'], headers.authorization], ['/mcp', 'session-1', 'Bearer of-the-server']);
});
