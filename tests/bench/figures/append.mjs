// Events through the store's own code, 16 writers, against bare one-row inserts. In a database of its
// own: the instance's workers would claim the bench's conversations.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, program, psql, run } from '../support.mjs';

const SECONDS_PER_ROUND = 4;
const DATABASE = `deft_bench_${process.pid}`;

async function makeDatabase() {
  const url = env('DEFT_DATABASE_URL').replace(/dbname=\w+/, `dbname=${DATABASE}`);
  const folder = await mkdtemp(join(tmpdir(), 'deft-bench-'));
  const { stdout } = await run('pg_dump', ['--schema-only', '--schema=public', '-d', env('DEFT_DATABASE_URL')], { maxBuffer: 1 << 24 });
  writeFileSync(join(folder, 'schema.sql'), stdout.replace(/^CREATE SCHEMA public;$/m, ''));
  await psql(`CREATE DATABASE ${DATABASE} TEMPLATE template0`);
  await run('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', '-d', url, '-f', join(folder, 'schema.sql')]);
  await rm(folder, { recursive: true });
  return url;
}

export async function append() {
  const url = await makeDatabase();
  try {
    const { stdout } = await run(program('append'), [url, String(SECONDS_PER_ROUND)]);
    const { bare, one, four } = JSON.parse(stdout);
    const line = (figure, value, goal) => ({ figure, value: value / bare, unit: 'x bare', baseline: bare, goal: `>= ${goal}`, ok: value / bare >= goal });
    return [line('append_one_event_a_call', one, 0.75), line('append_four_events_a_call', four, 1.1)];
  } finally {
    await psql(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  }
}
