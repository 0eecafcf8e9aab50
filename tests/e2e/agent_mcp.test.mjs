// MCP servers of an agent: their tools are offered to the model, and called.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { start } from '../fakes/mcp.mjs';
import { Box } from './support/box.mjs';
import { contract, Validator } from './support/contract.mjs';
import { isAction, isResult, observed, ofKind } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { terminal } from './support/model_calls.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
const call = (name, args = {}) => ({ name, arguments: args });
const SCHEMA = { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] };
const tool = (name, more = {}) => ({ name, description: `The tool ${name}.`, inputSchema: SCHEMA, ...more });
const text = (words) => ({ content: [{ type: 'text', text: words }] });

async function server(t, offer) {
  const fake = await start(offer);
  t.after(() => fake.close());
  return fake;
}

const servers = (config) => ({ agent: { mcp_config: config } });
const callsTo = (fake) => fake.requests.map(({ message }) => message).filter((message) => message?.method === 'tools/call');
const methodsOf = (fake) => fake.requests.map(({ message }) => message?.method);
const listingsOf = (events) => events.filter(({ key, value }) => key === 'agent_state' && value?.mcp_servers !== undefined).map(({ value }) => value);
const functionsOf = (request) => Object.fromEntries(request.tools.map(({ function: { name, ...rest } }) => [name, rest]));
const lastTexts = (conversation) => requestsOf(conversation).at(-1).messages.map(textOf);

test('tools of a server are offered to the model and called, in one session', async (t) => {
  const fake = await server(t, { tools: [tool('shout', { annotations: { readOnlyHint: true } }), tool('write')], call: ({ name, arguments: args }) => text(`${name}: ${args.words}`) });
  const config = { notes: { url: `${fake.url}/mcp`, auth: { strategy: 'bearer', value: 'token-of-notes' } } };
  const steps = [{ calls: [call('shout', { words: 'one', kind: 'loud', gone: null, summary: 'Shouts' })] }, { calls: [call('write', { words: 'two', security_risk: 'LOW' })] }, done];
  const conversation = await play(t, steps, { ...servers(config), tools: ['terminal'] });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(listingsOf(events), [{ mcp_servers: { notes: { tools: ['shout', 'write'] } }, skipped: [] }]);

  const { shout, write } = functionsOf(requestsOf(conversation)[0]);
  assert.deepEqual([shout.description, Object.keys(shout.parameters.properties)], ['The tool shout.', ['words', 'summary']]);
  assert.deepEqual(Object.keys(write.parameters.properties), ['words', 'security_risk', 'summary']);
  assert.deepEqual(write.parameters.required, ['words']);

  const action = events.find(isAction('shout'));
  assert.deepEqual(action.action, { kind: 'MCPToolAction', data: { words: 'one', kind: 'loud' } });
  assert.equal(action.summary, 'Shouts');
  const { observation } = events.find(isResult('shout'));
  assert.deepEqual(observation, {
    kind: 'MCPToolObservation', tool_name: 'shout', is_error: false,
    content: ['[Tool \'shout\' executed.]', 'shout: one'].map((words) => ({ cache_prompt: false, type: 'text', text: words })),
  });
  assert.ok(lastTexts(conversation).some((words) => words.includes('write: two')), 'the model reads the result');

  assert.deepEqual(methodsOf(fake), ['initialize', 'notifications/initialized', 'tools/list', 'tools/list', 'tools/call', 'tools/call']);
  assert.deepEqual(callsTo(fake).map(({ params: { name, arguments: args } }) => ({ name, arguments: args })), [
    { name: 'shout', arguments: { words: 'one', kind: 'loud' } }, { name: 'write', arguments: { words: 'two' } },
  ]);
  assert.ok(fake.requests.every(({ headers }) => headers.authorization === 'Bearer token-of-notes'));
  assert.deepEqual(fake.requests.map(({ headers }) => headers['mcp-session-id']), [undefined, ...Array(5).fill('session-1')]);
  assert.deepEqual(fake.requests.map(({ headers }) => headers['mcp-protocol-version']), [undefined, ...Array(5).fill('2025-06-18')]);
  await assertSound(conversation);
});

test('the events fit the contract', async (t) => {
  const fake = await server(t, { tools: [tool('show')], call: () => ({ content: [
    { type: 'text', text: 'words' }, { type: 'image', data: Buffer.from('picture').toString('base64'), mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'file:///a', text: 'of a file' } }, { type: 'resource_link', uri: 'file:///b', name: 'b' },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, { type: 'image', data: 'not base64!', mimeType: 'image/png' },
  ], isError: true }) });
  const conversation = await play(t, [{ calls: [call('show', { words: 'x' })] }, done], servers({ one: { url: `${fake.url}/streamed` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const { observation } = events.find(isResult('show'));
  assert.equal(observation.is_error, true);
  assert.deepEqual(observation.content.slice(1).map((part) => part.text ?? part.image_urls), [
    'words', ['data:image/png;base64,cGljdHVyZQ=='], 'of a file', '[A link to a resource: file:///b]',
    '[Content of a kind that cannot be shown: audio]', '[An image that cannot be shown: image/png]',
  ]);
  const schema = (name) => ({ $ref: `#/components/schemas/${name}` });
  assert.deepEqual(new Validator(contract).errors(schema('MCPToolObservation'), observation), []);
  assert.deepEqual(new Validator(contract).errors(schema('MCPToolAction'), events.find(isAction('show')).action), []);
});

test('with several servers a tool has its server\'s name before its own, and a dead server only lacks its tools', async (t) => {
  const fake = await server(t, { tools: [tool('find'), tool('find it!')], call: ({ name }) => text(`found by ${name}`) });
  const config = { 'my notes': { url: `${fake.url}/mcp` }, dead: { url: 'http://127.0.0.1:1/mcp' }, off: { url: `${fake.url}/refuse`, enabled: false } };
  const conversation = await play(t, [{ calls: [call('my_notes_find', { words: 'x' })] }, done], servers(config));
  assert.equal(await conversation.ask('go'), 'finished');
  const [listing, ...others] = listingsOf(await conversation.events());
  assert.deepEqual(listing.mcp_servers['my notes'], { tools: ['my_notes_find', 'my_notes_find_it_'] });
  assert.match(listing.mcp_servers.dead.error, /connect/i);
  assert.deepEqual([Object.keys(listing.mcp_servers).sort(), others], [['dead', 'my notes'], []]);
  assert.equal(callsTo(fake)[0].params.name, 'find');
  assert.equal(await conversation.ask('again'), 'finished');
  assert.equal(listingsOf(await conversation.events()).length, 1, 'the same failure is not told again');
  assert.equal(methodsOf(fake).filter((method) => method === 'tools/list').length, 2, 'a server that answered is not asked again');
});

test('a server that did not answer is asked again by the next run', async (t) => {
  const fake = await server(t, { tools: [tool('late')] });
  const conversation = await play(t, [{ calls: [call('late', { words: 'x' })] }, done], servers({ slow: { url: `${fake.url}/mcp` } }));
  fake.offer.tools = undefined; // its list is an error
  assert.equal(await conversation.ask('go'), 'finished');
  assert.match(listingsOf(await conversation.events())[0].mcp_servers.slow.error, /./);
  Object.assign(fake.offer, { tools: [tool('late')], call: () => text('at last') });
  assert.equal(await conversation.ask('again'), 'finished');
  assert.deepEqual(listingsOf(await conversation.events()).at(-1).mcp_servers, { slow: { tools: ['late'] } });
  assert.match(observed((await conversation.events()).find(isResult('late'))), /at last/);
});

test('a tool that fails, and a server that dies, are errors that the model reads', async (t) => {
  const fake = await server(t, { tools: [tool('break'), tool('die')], call: ({ name }) => (name === 'die' ? fake.close().then(() => undefined) : undefined) });
  const conversation = await play(t, [{ calls: [call('break', { words: 'x' })] }, { calls: [call('die', { words: 'x' })] }, { calls: [call('die', { words: 'y' })] }, done], servers({ one: { url: `${fake.url}/mcp` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  const errors = (await conversation.events()).filter(ofKind('AgentErrorEvent')).map(({ error }) => error);
  assert.equal(errors.length, 3);
  assert.equal(errors[0], 'The MCP server \'one\' failed: The server says: Unknown tool');
  for (const error of errors.slice(1)) assert.match(error, /^The MCP server 'one' failed: /);
  await assertSound(conversation);
});

test('secrets are filled in for the server, and masked in what comes back', async (t) => {
  const fake = await server(t, { tools: [tool('send')], call: ({ arguments: args }) => text(`got ${args.words} with ${fake.requests.at(-1).headers['x-key']}`) });
  const config = { one: { url: `${fake.url}/\${PLACE:-mcp}`, auth: { strategy: 'api_key', header_name: 'X-Key', value: '${KEY_OF_SERVER}' } } };
  const secrets = { KEY_OF_SERVER: { kind: 'StaticSecret', value: 'value-of-the-key' }, WORD: { kind: 'StaticSecret', value: 'a-secret-word' } };
  const conversation = await play(t, [{ calls: [call('send', { words: 'say $WORD, ${WORD}, ${NONE:-nothing} and $OTHER' })] }, done], { ...servers(config), secrets });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(callsTo(fake)[0].params.arguments.words, 'say a-secret-word, a-secret-word, nothing and $OTHER');
  assert.ok(fake.requests.every(({ headers }) => headers['x-key'] === 'value-of-the-key'));
  const events = await conversation.events();
  assert.match(observed(events.find(isResult('send'))), /got say <secret-hidden>, <secret-hidden>, nothing and \$OTHER with <secret-hidden>/);
  assert.doesNotMatch(JSON.stringify([events, requestsOf(conversation)]), /a-secret-word|value-of-the-key/);
});

test('credentials that a server repeats are masked, in its list as well', async (t) => {
  const fake = await server(t, { tools: [tool('tell', { description: 'Use credential-of-one.' })], call: () => text('it is credential-of-one') });
  const config = { one: { url: `${fake.url}/mcp`, headers: { Authorization: 'Token credential-of-one' } } };
  const conversation = await play(t, [{ calls: [call('tell', { words: 'x' })] }, done], servers(config));
  assert.equal(await conversation.ask('go'), 'finished');
  const said = JSON.stringify([await conversation.events(), requestsOf(conversation)]);
  assert.ok(!said.includes('credential-of-one'));
});

test('a session that the server has forgotten is made again', async (t) => {
  const fake = await server(t, { tools: [tool('count')], call: () => { fake.offer.session += 'x'; return text('one more'); } });
  const conversation = await play(t, [...Array(2).fill({ calls: [call('count', { words: 'x' })] }), done], servers({ one: { url: `${fake.url}/mcp` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual((await conversation.events()).filter(isResult('count')).map((event) => observed(event).split('\n').at(-1)), Array(2).fill('[Tool \'count\' executed.]one more'));
  assert.equal(methodsOf(fake).filter((method) => method === 'initialize').length, 2);
});

test('a conversation has one session with a server, over its runs and whichever worker runs it', async (t) => {
  let n = 0;
  const fake = await server(t, { tools: [tool('count')], call: () => text(`call ${++n}`) });
  const steps = [{ calls: [call('count', { words: 'x' })] }, done];
  const conversation = await play(t, Array(5).fill(steps).flat(), servers({ one: { url: `${fake.url}/mcp`, headers: { Authorization: 'Bearer of-one' } } }));
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(await conversation.ask('again'), 'finished');
  await killAndAwait('worker');
  assert.equal(await conversation.ask('once more'), 'finished');
  assert.equal(callsTo(fake).length, 3);
  assert.equal(methodsOf(fake).filter((method) => method === 'initialize').length, 1);
  const made = fake.requests.filter(({ message }) => message?.method === 'tools/call');
  assert.ok(made.every(({ headers }) => headers['mcp-session-id'] === 'session-1' && headers['mcp-protocol-version'] === '2025-06-18' && headers.authorization === 'Bearer of-one'));
  const ids = fake.requests.map(({ message }) => message?.id).filter((id) => id !== undefined);
  assert.equal(new Set(ids).size, ids.length, 'no id comes twice in a session');
  const [{ state }] = await query(`SELECT agent_state::text AS state FROM conversations WHERE id = :'id'`, conversation);
  assert.ok(state.includes('server_sessions') && !state.includes('session-1'), 'the session is stored sealed');

  fake.offer.session = 'session-2'; // the server has forgotten the other one
  assert.equal(await conversation.ask('and again'), 'finished');
  assert.equal(await conversation.ask('at last'), 'finished');
  assert.deepEqual([callsTo(fake).length - 1, n, methodsOf(fake).filter((method) => method === 'initialize').length], [5, 5, 2]);
});

test('questions of a server are answered, and a changed list is read again', async (t) => {
  const before = [{ id: 'p', method: 'ping' }, { id: 's', method: 'sampling/createMessage', params: {} }, { method: 'notifications/progress', params: { progress: 1 } }];
  const fake = await server(t, { tools: [tool('old')], before: [...before, { method: 'notifications/tools/list_changed' }], call: () => {
    Object.assign(fake.offer, { tools: [tool('new')], before: [] });
    return text('changed');
  } });
  const conversation = await play(t, [{ calls: [call('old', { words: 'x' })] }, { calls: [call('new', { words: 'x' })] }, done], servers({ one: { url: `${fake.url}/streamed` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(listingsOf(await conversation.events()).map(({ mcp_servers: { one } }) => one.tools), [['old'], ['new']]);
  assert.ok((await conversation.events()).some(isResult('new')));
  const answers = fake.requests.map(({ message }) => message).filter(({ method }) => method === undefined);
  assert.deepEqual(answers.map(({ id, result, error }) => [id, result, error?.code]), [...Array(answers.length / 2).fill([['p', {}, undefined], ['s', undefined, -32601]]).flat()]);
  assert.ok(answers.length >= 2);
});

test('an interrupt ends a call at once, and the server is told', async (t) => {
  const fake = await server(t, { tools: [tool('wait')], call: () => new Promise(() => {}) });
  const conversation = await play(t, [{ calls: [call('wait', { words: 'x' })] }, done], servers({ one: { url: `${fake.url}/mcp` } }));
  await conversation.say('go', true);
  await waitUntil(() => callsTo(fake).length === 1, 'the server has the call');
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.rest(), 'paused');
  const told = () => fake.requests.find(({ message }) => message?.method === 'notifications/cancelled');
  await waitUntil(() => told() !== undefined, 'the server is told');
  assert.equal(told().message.params.requestId, callsTo(fake)[0].id);
  await assertSound(conversation);
});

test('the older transport works, too', async (t) => {
  const fake = await server(t, { tools: [tool('one'), tool('two')], call: ({ name }) => text(`from ${name}`) });
  const conversation = await play(t, [{ calls: [call('one', { words: 'x' }), call('two', { words: 'y' })] }, done], servers({ old: { url: `${fake.url}/sse` } }));
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual((await conversation.events()).filter(ofKind('ObservationEvent')).map((event) => observed(event)), ['one', 'two'].map((name) => `[Tool '${name}' executed.]from ${name}`));
});

test('a server that is a program runs in the sandbox', async (t) => {
  const script = `${WORKING_DIR}/agent-mcp-${randomUUID().slice(0, 8)}.py`;
  await new Box().upload(script, `import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}}, "tools/list": {"tools": [{"name": "hostname", "inputSchema": {"type": "object"}}]}}.get(m["method"])
    if m["method"] == "tools/call": r = {"content": [{"type": "text", "text": os.environ["WHO"] + " in " + os.uname().nodename}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`);
  const config = { here: { command: 'python3', args: [script], env: { WHO: 'a program' } }, none: { command: 'no-such-program' } };
  const conversation = await play(t, [{ calls: [call('here_hostname'), terminal('uname -n')] }, done], { ...servers(config), tools: ['terminal'] });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.match(listingsOf(events)[0].mcp_servers.none.error, /no-such-program/);
  const host = observed(events.find(isResult('terminal'))).split('\n')[0].trim();
  assert.equal(observed(events.find(isResult('here_hostname'))), `[Tool 'hostname' executed.]a program in ${host}`);
});

test('tools that models or other tools forbid are skipped with a reason, and a name of deft\'s own stays deft\'s', async (t) => {
  const fake = await server(t, { tools: [tool('terminal'), tool('twice'), tool('twice'), tool('x'.repeat(65)), tool('huge', { inputSchema: { type: 'object', description: 'x'.repeat(40000) } })] });
  const conversation = await play(t, [{ calls: [terminal('echo of the sandbox')] }, done], { ...servers({ one: { url: `${fake.url}/mcp` } }), tools: ['terminal'] });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(listingsOf(events)[0].skipped.map(({ tool: name, reason }) => [name.slice(0, 5), reason]), [
    ['twice', 'another tool has its name'], ['xxxxx', 'its name is empty, or longer than models allow'], ['huge', 'its description is too large'],
  ]);
  assert.match(observed(events.find(isResult('terminal'))), /of the sandbox/);
  assert.equal(callsTo(fake).length, 0);
  assert.equal(requestsOf(conversation)[0].tools.filter(({ function: { name } }) => name === 'terminal').length, 1);
  assert.ok(kindsOf(events).includes('S(finished)'));
});
