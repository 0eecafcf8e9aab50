// A list of 20 out of 100,000 conversations of one user, through nginx.
import { agentUrl, api, conversationBody, key, percentile, psql } from '../support.mjs';

const CONVERSATIONS = 100000;
const ROUNDS = 300;

async function makeMany() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
  const columns = await psql(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
    WHERE table_name = 'conversations' AND column_name NOT IN ('id', 'created_at', 'updated_at') AND is_generated = 'NEVER'`);
  await psql(`INSERT INTO conversations (id, created_at, updated_at, ${columns})
    SELECT gen_random_uuid(), created_at - n * interval '1 second', created_at - n * interval '1 second', ${columns}
    FROM conversations, generate_series(1, ${CONVERSATIONS}) n WHERE id = '${id}'`);
  await psql('ANALYZE conversations');
}

async function milliseconds(path) {
  const began = performance.now();
  const response = await fetch(agentUrl() + path, { headers: { 'X-Session-API-Key': key() } });
  const { items } = await response.json();
  if (items.length !== 20) throw new Error(`${path}: ${items.length} items`);
  return performance.now() - began;
}

async function line(figure, path) {
  const times = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await milliseconds(path));
  const value = percentile(times, 99);
  return { figure, value, unit: 'ms', baseline: percentile(times, 50), goal: '<= 20', ok: value <= 20 };
}

export async function list() {
  await makeMany();
  const deep = await psql(`SELECT id FROM conversations ORDER BY created_at DESC OFFSET ${CONVERSATIONS / 2} LIMIT 1`);
  const search = '/api/conversations/search?limit=20&sort_order=';
  return [
    await line('list_of_20_by_creation_p99', `${search}CREATED_AT_DESC`),
    await line('list_of_20_by_update_p99', `${search}UPDATED_AT_DESC`),
    await line('list_of_20_in_the_middle_p99', `${search}CREATED_AT_DESC&page_id=${deep}`),
  ];
}
