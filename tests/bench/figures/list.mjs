// Lists of one user's conversations through nginx: 20 of 1,000, which are what a client with tools of its own starts,
// against a bare FastCGI handler; and 20 of 100,000.
import { againstBare } from '../bare.mjs';
import { agentUrl, api, conversationBody, isStatus, key, message, percentile, psql, waitForEvent } from '../support.mjs';

const CONVERSATIONS = 100000;
const FEW = 1000;
const ROUNDS = 300;

// 7 KB: what Agent Canvas gives its agent.
const CLIENT_TOOLS = Array.from({ length: 14 }, (_, i) => ({
  name: `client_tool_${i}`,
  description: 'A tool of the client that does something. '.repeat(6),
  parameters: { type: 'object', properties: { path: { type: 'string', description: 'Path of the file. '.repeat(5) } }, required: ['path'] },
}));

async function makeFew() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }, { client_tools: CLIENT_TOOLS, initial_message: message('hello') }));
  await waitForEvent(id, isStatus('finished'));
  await copyRow(id, FEW);
}

async function copyRow(id, n) {
  const columns = await psql(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
    WHERE table_name = 'conversations' AND column_name NOT IN ('id', 'created_at', 'updated_at') AND is_generated = 'NEVER'`);
  await psql(`INSERT INTO conversations (id, created_at, updated_at, ${columns})
    SELECT gen_random_uuid(), created_at - n * interval '1 second', created_at - n * interval '1 second', ${columns}
    FROM conversations, generate_series(1, ${n}) n WHERE id = '${id}'`);
  await psql('VACUUM ANALYZE conversations');
}

async function makeMany() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
  await copyRow(id, CONVERSATIONS);
}

async function milliseconds(path, n) {
  const began = performance.now();
  const response = await fetch(agentUrl() + path, { headers: { 'X-Session-API-Key': key() } });
  const { items } = await response.json();
  if (items.length !== n) throw new Error(`${path}: ${items.length} items`);
  return performance.now() - began;
}

async function line(figure, path) {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await milliseconds(path, 20));
  const value = percentile(times, 99);
  return { figure, value, unit: 'ms', baseline: percentile(times, 50), goal: '<= 20', ok: value <= 20 };
}

async function rate(figure, connections, goal) {
  const id = await psql('SELECT user_id FROM conversations LIMIT 1');
  const { value, baseline } = await againstBare({ kind: 'conversations', id, path: '/api/conversations/search', query: 'limit=20', connections });
  return { figure, value, unit: 'x bare', baseline, goal: `>= ${goal}`, ok: value >= goal };
}

async function lineOfOne() {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await milliseconds('/api/conversations/search?limit=1', 1));
  const value = percentile(times, 50);
  return { figure: 'list_of_1_p50', value, unit: 'ms', baseline: percentile(times, 99), goal: '<= 1.5', ok: value <= 1.5 };
}

export async function list() {
  await makeFew();
  const few = [await rate('list_of_20_one_client', 1, 0.6), await rate('list_of_20_eight_clients', 8, 0.55), await lineOfOne()];
  await makeMany();
  const deep = await psql(`SELECT id FROM conversations ORDER BY created_at DESC OFFSET ${CONVERSATIONS / 2} LIMIT 1`);
  const search = '/api/conversations/search?limit=20&sort_order=';
  return [
    ...few,
    await line('list_of_20_by_creation_p99', `${search}CREATED_AT_DESC`),
    await line('list_of_20_by_update_p99', `${search}UPDATED_AT_DESC`),
    await line('list_of_20_in_the_middle_p99', `${search}CREATED_AT_DESC&page_id=${deep}`),
  ];
}
