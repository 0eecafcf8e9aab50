// Calls of MCP servers' tools that are in one answer run at once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { start } from '../fakes/mcp.mjs';
import { Box } from './support/box.mjs';
import { isResult, observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { play, requestsOf, textOf } from './support/loop.mjs';
import { terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
const call = (name, args = {}) => ({ name, arguments: args });
const tool = (name, more = {}) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, ...more });
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const agentOf = (config, atOnce = 4) => ({ agent: { mcp_config: config, tool_concurrency_limit: atOnce } });
const callsTo = (fake) => fake.requests.filter(({ message }) => message?.method === 'tools/call');
const methodsOf = (fake) => fake.requests.map(({ message }) => message?.method);

function newGate() {
  let open;
  const opened = new Promise((resolve) => { open = resolve; });
  return { opened, open };
}

/** A server whose calls are held: `release(name)` lets those of a tool end. */
async function holding(t, tools) {
  const held = new Map();
  const gateOf = (name) => held.get(name) ?? held.set(name, newGate()).get(name);
  const fake = await start({ tools, call: ({ name }) => gateOf(name).opened.then(() => text(`from ${name}`)) });
  t.after(() => fake.close());
  return Object.assign(fake, { release: (name) => gateOf(name).open() });
}

const resultOf = (conversation, name) => waitUntil(async () => (await conversation.events()).find(isResult(name)), `the result of ${name} is stored`);

test('calls run at once, results are stored as they come, and the model reads them in the order of the calls', async (t) => {
  const fake = await holding(t, [tool('one'), tool('two')]);
  const other = await holding(t, [tool('three')]);
  const conversation = await play(t, [{ calls: [call('a_one'), call('a_two'), call('b_three')] }, done], agentOf({ a: { url: `${fake.url}/mcp` }, b: { url: `${other.url}/streamed` } }));
  await conversation.say('go', true);
  await waitUntil(() => callsTo(fake).length === 2 && callsTo(other).length === 1, 'all calls are at the servers');
  for (const [server, name] of [[other, 'three'], [fake, 'two'], [fake, 'one']]) {
    server.release(name);
    assert.match(observed(await resultOf(conversation, `${server === fake ? 'a' : 'b'}_${name}`)), new RegExp(`from ${name}$`));
  }
  assert.equal(await conversation.rest(), 'finished');
  assert.deepEqual((await conversation.events()).filter(ofKind('ObservationEvent')).map((event) => event.tool_name), ['b_three', 'a_two', 'a_one']);
  const read = requestsOf(conversation).at(-1).messages.filter(({ role }) => role === 'tool').map((message) => textOf(message).split(']').at(-1));
  assert.deepEqual(read, ['from one', 'from two', 'from three']);
  await assertSound(conversation);
});

test('calls of one server are in one session, with ids of their own', async (t) => {
  const look = tool('look', { annotations: { readOnlyHint: true } });
  const fake = await holding(t, [look, tool('last')]);
  const conversation = await play(t, [{ calls: [call('look', { n: 1 }), call('look', { n: 2 }), call('look', { n: 3 })] }, { calls: [call('last')] }, done], agentOf({ a: { url: `${fake.url}/mcp` } }));
  await conversation.say('go', true);
  await waitUntil(() => callsTo(fake).length === 3, 'all calls are at the server');
  fake.release('look');
  fake.release('last');
  assert.equal(await conversation.rest(), 'finished');
  assert.equal(methodsOf(fake).filter((method) => method === 'initialize').length, 1);
  assert.ok(callsTo(fake).every(({ headers }) => headers['mcp-session-id'] === 'session-1'));
  const ids = fake.requests.map(({ message }) => message?.id).filter((id) => id !== undefined);
  assert.equal(new Set(ids).size, ids.length);
});

test('the limit counts, and calls of a tool that writes keep their order', async (t) => {
  for (const [calls, atOnce, atFirst] of [[['one', 'two', 'three'], 2, 2], [['one', 'two'], 1, 1], [['one', 'one'], 4, 1]]) {
    const fake = await holding(t, ['one', 'two', 'three'].map((name) => tool(name)));
    const conversation = await play(t, [{ calls: calls.map((name) => call(name)) }, done], agentOf({ a: { url: `${fake.url}/mcp` } }, atOnce));
    let atMost = 0;
    let running = 0;
    const { call: answer } = fake.offer;
    fake.offer.call = async (params) => {
      atMost = Math.max(atMost, ++running);
      const result = await answer(params);
      running--;
      return result;
    };
    await conversation.say('go', true);
    await waitUntil(() => callsTo(fake).length === atFirst, 'the first calls are at the server');
    for (const name of calls) fake.release(name);
    assert.equal(await conversation.rest(), 'finished');
    assert.deepEqual([atMost, callsTo(fake).length], [atFirst, calls.length]);
  }
});

test('calls of a server and of the sandbox run at once, whichever ends first', async (t) => {
  const box = new Box();
  for (const order of [['server', 'sandbox'], ['sandbox', 'server']]) {
    const fake = await holding(t, [tool('one')]);
    const gate = `${WORKING_DIR}/gate-${randomUUID()}`;
    const conversation = await play(t, [{ calls: [terminal(`until [ -e ${gate} ]; do sleep 0.05; done; echo opened`), call('one')] }, done], { ...agentOf({ a: { url: `${fake.url}/mcp` } }), tools: ['terminal'] });
    await conversation.say('go', true);
    await waitUntil(() => callsTo(fake).length === 1, 'the call is at the server');
    const ends = {
      server: () => { fake.release('one'); return resultOf(conversation, 'one'); },
      sandbox: async () => { await box.upload(gate, ''); return resultOf(conversation, 'terminal'); },
    };
    for (const name of order) await ends[name]();
    assert.equal(await conversation.rest(), 'finished');
    const names = { server: 'one', sandbox: 'terminal' };
    assert.deepEqual((await conversation.events()).filter(ofKind('ObservationEvent')).map((event) => event.tool_name), order.map((name) => names[name]));
  }
});

test('calls of a program in the sandbox run at once, too', async (t) => {
  const script = `${WORKING_DIR}/agent-mcp-${randomUUID().slice(0, 8)}.py`;
  await new Box().upload(script, `import json, sys, threading
MET = threading.Barrier(2)
def answer(m):
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}}, "tools/list": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("left", "right")]}}.get(m["method"])
    if m["method"] == "tools/call":
        MET.wait()
        r = {"content": [{"type": "text", "text": m["params"]["name"] + " has met the other"}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m: threading.Thread(target=answer, args=(m,)).start()
`);
  const conversation = await play(t, [{ calls: [call('left'), call('right')] }, done], { ...agentOf({ here: { command: 'python3', args: [script], timeout: 60 } }), tools: ['terminal'] });
  assert.equal(await conversation.ask('go'), 'finished');
  const results = (await conversation.events()).filter(ofKind('ObservationEvent')).map((event) => observed(event));
  assert.deepEqual(results.sort(), ['left', 'right'].map((name) => `[Tool '${name}' executed.]${name} has met the other`));
});

test('an interrupt ends all calls at once, and each server is told', async (t) => {
  const fakes = [await holding(t, [tool('one'), tool('two')]), await holding(t, [tool('three')])];
  const conversation = await play(t, [{ calls: [call('a_one'), call('a_two'), call('b_three')] }, done], agentOf({ a: { url: `${fakes[0].url}/mcp` }, b: { url: `${fakes[1].url}/mcp` } }));
  await conversation.say('go', true);
  await waitUntil(() => fakes.flatMap(callsTo).length === 3, 'all calls are at the servers');
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.rest(), 'paused');
  for (const fake of fakes) {
    const told = () => fake.requests.filter(({ message }) => message?.method === 'notifications/cancelled').map(({ message }) => message.params.requestId).sort();
    await waitUntil(() => told().length === callsTo(fake).length, 'the server is told');
    assert.deepEqual(told(), callsTo(fake).map(({ message }) => message.id).sort());
  }
  await assertSound(conversation);
});

test('one call fails and the others have their results', async (t) => {
  const fake = await start({ tools: [tool('good'), tool('bad')], call: ({ name }) => (name === 'good' ? text('well') : undefined) });
  t.after(() => fake.close());
  const conversation = await play(t, [{ calls: [call('a_bad'), call('a_good'), call('b_good')] }, done], agentOf({ a: { url: `${fake.url}/mcp` }, b: { url: `${fake.url}/streamed` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(events.filter(ofKind('AgentErrorEvent')).map(({ error }) => error), ['The MCP server \'a\' failed: The server says: Unknown tool']);
  assert.equal(events.filter(ofKind('ObservationEvent')).length, 2);
  await assertSound(conversation);
});
