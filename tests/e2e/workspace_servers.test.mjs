// MCP servers that files of the workspace name: shown to the user, and used only after the user's consent.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { start } from '../fakes/mcp.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { contract, Validator } from './support/contract.mjs';
import { Conversation, isResult, observed } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { fake as model, play, requestsOf, textOf } from './support/loop.mjs';
import { terminal } from './support/model_calls.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const box = new Box();
const done = { text: 'done' };
const shout = (name) => ({ name, arguments: { words: 'x' } });
/** A model that makes these calls once in answer to a message with that text, and otherwise has done. */
const answering = (words, calls) => ({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return textOf(messages[last]).endsWith(words) && messages.length === last + 1 ? { calls } : done;
};
const PROGRAM = `import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}}, "tools/list": {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}}.get(m["method"])
    if m["method"] == "tools/call": r = {"content": [{"type": "text", "text": os.environ["WHO"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`;

async function server(t) {
  const fake = await start({ tools: [{ name: 'shout', inputSchema: { type: 'object' } }], call: ({ arguments: { words } }) => ({ content: [{ type: 'text', text: `${words}!` }] }) });
  t.after(() => fake.close());
  return fake;
}

/** A folder with files in the user's sandbox. */
async function project(t, files) {
  const folder = `${WORKING_DIR}/servers-${randomUUID()}`;
  const put = async (name, text) => assert.equal((await box.upload(`${folder}/${name}`, text)).status, 200);
  for (const [name, text] of Object.entries({ 'AGENTS.md': 'Rules.', ...files })) await put(name, text);
  t.after(() => box.run(`rm -rf ${folder}`));
  return { folder, put };
}

const config = (servers) => JSON.stringify({ mcpServers: servers });
const begin = (t, steps, { folder }, more = {}) => play(t, steps, {
  tools: ['terminal'], workspace: { kind: 'LocalWorkspace', working_dir: folder }, ...more, agent: { agent_context: { load_project_skills: true }, ...more.agent },
});
const serversOf = async (conversation) => (await conversation.must(200, 'GET', '/project_mcp_servers')).project_mcp_servers;
const told = (events) => events.filter(({ value }) => value?.project_mcp_servers !== undefined).map(({ value }) => value.project_mcp_servers);
const listed = (events) => events.filter(({ value }) => value?.mcp_servers !== undefined).map(({ value }) => value.mcp_servers);
const allow = (conversation, { name, digest }) => conversation.must(200, 'POST', '/project_mcp_servers/consent', { json: { name, digest } });
const functionsOf = (request) => request.tools.map(({ function: { name } }) => name);

test('a server of the workspace is shown, and not used without the user\'s consent', async (t) => {
  const fake = await server(t);
  const where = await project(t, { '.mcp.json': config({ loud: { url: `${fake.url}/mcp`, headers: { 'X-Token': '${TOKEN}', 'X-B': 'b' } } }) });
  const conversation = await begin(t, [done], where, { secrets: { TOKEN: { kind: 'StaticSecret', value: 'value-of-token' } } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(await conversation.ask('again'), 'finished');
  const events = await conversation.events();
  const [shown, ...more] = told(events);
  assert.deepEqual(more, [], 'the same servers are told once');
  assert.deepEqual(shown.map(({ digest, ...rest }) => [digest.length, rest]), [[64, {
    name: 'loud', source: `${where.folder}/.mcp.json`, url: `${fake.url}/mcp`, env: [], headers: ['X-Token', 'X-B'], secrets: ['TOKEN'], is_consented: false,
  }]]);
  assert.deepEqual(await serversOf(conversation), shown);
  assert.deepEqual([fake.requests, listed(events)], [[], []]);
  for (const request of requestsOf(conversation)) assert.ok(!functionsOf(request).some((name) => name.includes('shout')));
  const event = events.find(({ value }) => value?.project_mcp_servers !== undefined);
  assert.deepEqual(new Validator(contract).errors({ $ref: '#/components/schemas/ConversationStateUpdateEvent' }, event), []);
  assert.ok(!JSON.stringify(await conversation.info()).includes(shown[0].digest));
});

test('after the consent the next run uses it, until the file changes', async (t) => {
  const fake = await server(t);
  const other = await server(t);
  const where = await project(t, { '.mcp.json': config({ loud: { url: `${fake.url}/mcp`, headers: { 'X-Token': '${TOKEN}' } } }) });
  const secrets = { TOKEN: { kind: 'StaticSecret', value: 'value-of-token' } };
  const conversation = await begin(t, answering('use it', [shout('loud_shout')]), where, { secrets });
  assert.equal(await conversation.ask('go'), 'finished');
  const [first] = await serversOf(conversation);
  await allow(conversation, first);
  assert.equal(told(await conversation.events()).at(-1)[0].is_consented, true);
  assert.equal(await conversation.ask('use it'), 'finished');
  let events = await conversation.events();
  assert.equal(observed(events.find(isResult('loud_shout'))), '[Tool \'shout\' executed.]x!');
  assert.deepEqual(listed(events), [{ loud: { tools: ['loud_shout'] } }]);
  assert.ok(fake.requests.every(({ headers }) => headers['x-token'] === 'value-of-token'));

  await where.put('.mcp.json', config({ loud: { url: `${other.url}/mcp`, headers: { 'X-Token': '${TOKEN}' } } }));
  // All but the end of the session, which comes when it likes.
  const asked = () => fake.requests.filter(({ method }) => method !== 'DELETE').length;
  const n = asked();
  assert.equal(await conversation.ask('and now'), 'finished');
  events = await conversation.events();
  const [changed] = told(events).at(-1);
  assert.deepEqual([changed.url, changed.is_consented], [`${other.url}/mcp`, false]);
  assert.deepEqual([asked(), other.requests.length], [n, 0]);
  assert.ok(!functionsOf(requestsOf(conversation).at(-1)).includes('loud_shout'));
  const stale = await conversation.call('POST', '/project_mcp_servers/consent', { json: { name: 'loud', digest: first.digest } });
  assert.equal(stale.status, 409, stale.text);
  await allow(conversation, changed);
  assert.equal(await conversation.ask('again, use it'), 'finished');
  assert.ok(other.requests.some(({ message }) => message?.method === 'tools/call'));
  assert.equal(asked(), n);
  await assertSound(conversation);
});

test('of two servers the agent gets the one that was allowed, next to its own', async (t) => {
  const [own, one, two] = [await server(t), await server(t), await server(t)];
  const where = await project(t, { '.mcp.json': config({ one: { url: `${one.url}/mcp` }, mine: { url: `${two.url}/mcp` } }), '.agents/skills/loud/.mcp.json': config({ two: { url: `${two.url}/mcp` } }) });
  const conversation = await begin(t, answering('use them', [shout('shout'), shout('two_shout')]), where, { agent: { mcp_config: { mine: { url: `${own.url}/mcp` } } } });
  assert.equal(await conversation.ask('go'), 'finished');
  const found = await serversOf(conversation);
  assert.deepEqual(found.map(({ name }) => name).sort(), ['one', 'two']);
  await allow(conversation, found.find(({ name }) => name === 'two'));
  assert.equal(await conversation.ask('use them'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(listed(events).at(-1), { mine: { tools: ['shout'] }, two: { tools: ['two_shout'] } });
  assert.equal(events.filter(isResult('shout')).length + events.filter(isResult('two_shout')).length, 2);
  assert.equal(one.requests.length, 0);
  await conversation.must(200, 'POST', '/project_mcp_servers/withdraw', { json: { name: 'two' } });
  assert.equal(await conversation.ask('without'), 'finished');
  assert.deepEqual(listed(await conversation.events()).at(-1), { mine: { tools: ['shout'] } });
  assert.deepEqual((await serversOf(conversation)).map(({ is_consented: is }) => is), [false, false]);
});

test('a consent during a run counts for its next step', async (t) => {
  const fake = await server(t);
  const where = await project(t, { '.mcp.json': config({ loud: { url: `${fake.url}/mcp` } }) });
  const conversation = await begin(t, [{ park: true, calls: [terminal('true')] }, { calls: [shout('loud_shout')] }, done], where);
  await conversation.say('go', true);
  await waitUntil(() => model.n_parked > 0, 'the model is asked');
  await allow(conversation, (await serversOf(conversation))[0]);
  model.release();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal((await conversation.events()).filter(isResult('loud_shout')).length, 1);
});

test('a program of the workspace runs after the consent', async (t) => {
  const where = await project(t, { 'server.py': PROGRAM });
  await where.put('.mcp.json', config({ who: { command: 'python3', args: [`${where.folder}/server.py`], env: { WHO: 'the project' } } }));
  const conversation = await begin(t, answering('who?', [{ name: 'who_who', arguments: {} }]), where);
  assert.equal(await conversation.ask('go'), 'finished');
  const [found] = await serversOf(conversation);
  assert.deepEqual([found.command, found.env], [['python3', `${where.folder}/server.py`], ['WHO']]);
  await allow(conversation, found);
  assert.equal(await conversation.ask('who?'), 'finished');
  assert.equal(observed((await conversation.events()).find(isResult('who_who'))), '[Tool \'who\' executed.]the project');
});

test('only the conversation\'s user consents', async (t) => {
  const conversation = await play(t, [done], { conversation_runtime: 'docker', agent: { agent_context: { load_project_skills: true } } });
  assert.equal((await new Box(conversation.path).upload(`${WORKING_DIR}/.mcp.json`, config({ loud: { url: 'http://127.0.0.1:1/mcp' } }))).status, 200);
  assert.equal(await conversation.ask('go'), 'finished');
  const [{ name, digest }] = await serversOf(conversation);
  const { session_api_key: sandbox } = await conversation.must(200, 'POST', '/runtime/credentials', { json: {} });
  const { key: stranger } = await newUser();
  for (const [key, status] of [[stranger, 404], [null, 401], [randomUUID(), 401], [sandbox, 403]]) {
    const answer = await call('POST', `${conversation.path}/project_mcp_servers/consent`, { key, json: { name, digest } });
    assert.equal(answer.status, status, answer.text);
  }
  assert.equal((await serversOf(conversation))[0].is_consented, false);
  await allow(conversation, { name, digest });
  const { id } = await conversation.must(201, 'POST', '/fork', { json: {} });
  const copy = new Conversation(id);
  t.after(() => copy.delete());
  assert.equal((await serversOf(copy))[0].is_consented, false, 'a copy asks again');
});

test('hostile files name nothing that could deceive, and cost nothing', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`s${i}`, { command: 'x' }]));
  const names = { 'a\u0007b': { command: 'x' }, 'git\u200bhub': { command: 'x' }, [`n${'x'.repeat(100)}`]: { command: 'x' }, fine: { command: 'ls', args: ['a\u202eb'] }, both: { url: 'https://a.example', command: 'rm' } };
  const cases = [
    ['of 10 MB', undefined, 0, /./],
    ['deep', '{"a":'.repeat(100_000), 0, /./],
    ['of 10,000 servers', config(many), 16, /more than 16 servers/],
    ['with bad names', config(names), 0, /printable characters/],
    ['that is no JSON', '\u0000\u0001', 0, /./],
  ];
  for (const [what, text, n, reason] of cases) {
    const where = await project(t, {});
    if (text === undefined) await box.run(`{ printf '{"a": "'; head -c 10485760 /dev/zero | tr '\\0' x; printf '"}'; } > ${where.folder}/.mcp.json`);
    else await where.put('.mcp.json', text);
    const conversation = await begin(t, [done], where);
    assert.equal(await conversation.ask('go'), 'finished', what);
    assert.equal((await serversOf(conversation)).length, n, what);
    const { value } = (await conversation.events()).find((event) => event.value?.project_knowledge !== undefined);
    assert.ok(value.project_knowledge.skipped.some((entry) => entry.path.endsWith('/.mcp.json') && reason.test(entry.reason)), `${what}: ${JSON.stringify(value.project_knowledge.skipped)}`);
    const [{ size }] = await query(`SELECT length(spec) AS size FROM conversations WHERE id = :'id'`, conversation);
    assert.ok(Number(size) < 512 * 1024, what);
  }
});
