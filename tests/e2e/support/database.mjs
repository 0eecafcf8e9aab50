// The instance's database, for data that the API does not show: counts, and rules that rows must obey.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DATABASE_URL } from './instance.mjs';
import { waitUntil } from './wait.mjs';

const run = promisify(execFile);

/** Rows of a query as objects. Values are given as psql variables: :'name' in the text. */
export async function query(sql, values = {}) {
  const variables = Object.entries(values).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  const child = run('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...variables, DATABASE_URL], { maxBuffer: 64 << 20 });
  child.child.stdin.end(`SELECT coalesce(json_agg(found), '[]') FROM (${sql}) AS found`);
  const { stdout } = await child;
  return JSON.parse(stdout);
}

/** A statement; what it returns, as psql's unaligned text. */
export async function execute(sql, values = {}) {
  const variables = Object.entries(values).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  const child = run('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', ...variables, DATABASE_URL]);
  child.child.stdin.end(sql);
  return (await child).stdout.trim();
}

/** Rows that change by themselves: sandboxes created in advance, and those being deleted. */
const NOBODYS_DOING = { warm_sandboxes: 'true', runtimes: "desired = 'deleted'" };

async function countsOf(tables) {
  const count = (name) => `(SELECT count(*) FROM "${name}" WHERE NOT (${NOBODYS_DOING[name] ?? 'false'})) AS "${name}"`;
  const [row] = await query(`SELECT ${tables.map(count).join(', ')}`);
  return row;
}

/** Work that writes rows, possibly of an earlier test: runs and jobs that wait or are under way. */
const WORK = `SELECT id::text FROM conversations WHERE wanted_at IS NOT NULL OR lease_owner IS NOT NULL
  UNION ALL SELECT kind FROM jobs WHERE done_at IS NULL`;

/** The number of rows of each table that most requests write to, once no work is left that writes more of them. */
export async function rowCounts() {
  await waitUntil(async (saw) => saw(await query(WORK)).length === 0, 'all runs and jobs have ended');
  return countsOf(['conversations', 'events', 'jobs', 'runtimes']);
}

/** The number of rows of every table. */
export async function tableCounts() {
  const tables = await query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1");
  return countsOf(tables.map(({ relname }) => relname));
}

// Each finds rows that must not exist.
const RULES = {
  'numbers are gapless and begin with 0 or 1': `
    SELECT conversation_id FROM events WHERE conversation_id = ANY (:'ids'::uuid[]) GROUP BY 1
    HAVING max(seq) - min(seq) + 1 <> count(*) OR min(seq) NOT IN (0, 1)`,
  'times never fall': `
    SELECT id FROM (SELECT id, timestamp, lag(timestamp) OVER (PARTITION BY conversation_id ORDER BY seq) AS before
      FROM events WHERE conversation_id = ANY (:'ids'::uuid[])) AS one WHERE timestamp < before`,
  'an id is used once': `
    SELECT id FROM events WHERE conversation_id = ANY (:'ids'::uuid[]) GROUP BY conversation_id, id HAVING count(*) > 1`,
  'no worker wrote behind the one that took over from it': `
    SELECT id FROM (SELECT id, fence, max(fence) OVER (PARTITION BY conversation_id ORDER BY seq) AS newest
      FROM events WHERE conversation_id = ANY (:'ids'::uuid[])) AS one WHERE fence < newest`,
  'a call has one result': `
    WITH calls AS (SELECT conversation_id, seq, body::jsonb ->> 'tool_call_id' AS call, kind
      FROM events WHERE conversation_id = ANY (:'ids'::uuid[])
        AND kind IN ('ActionEvent', 'ObservationEvent', 'AgentErrorEvent', 'UserRejectObservation'))
    SELECT action.call FROM calls AS action
      LEFT JOIN calls AS result ON result.conversation_id = action.conversation_id AND result.call = action.call
        AND result.kind <> 'ActionEvent'
      WHERE action.kind = 'ActionEvent' GROUP BY action.conversation_id, action.call
      HAVING count(result.call) <> count(DISTINCT action.seq) OR min(result.seq) < min(action.seq)`,
  'nothing runs without a worker': `
    SELECT id FROM conversations WHERE id = ANY (:'ids'::uuid[]) AND execution_status = 'running'
      AND coalesce(lease_expires_at, wanted_at) < now() - interval '60 s'`,
};

/** Fails if a rule of the store is broken in one of these idle conversations. */
export async function assertSound(...conversations) {
  const ids = `{${conversations.map(({ id }) => id).join(',')}}`;
  for (const [rule, sql] of Object.entries(RULES)) {
    assert.deepEqual(await query(sql, { ids }), [], rule);
  }
}
