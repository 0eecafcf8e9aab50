// The database rights of each process: it connects as its own role, which owns nothing.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { waitUntil } from './http.mjs';

const run = promisify(execFile);
const { DEFT_DATABASE_URL, DEFT_RUN } = process.env;

const urlOf = (role) => DEFT_DATABASE_URL.replace(/user=\w+/, `user=${role}`);

/** Rows of a query, as the owner unless another role is named. */
async function query(sql, role = 'deft') {
  const { stdout } = await run('psql', ['-XqAtF', '\t', '-v', 'ON_ERROR_STOP=1', '-d', urlOf(role), '-c', sql]);
  return stdout.split('\n').filter(Boolean).map((line) => line.split('\t'));
}

const ROLES = ['deft_fcgi', 'deft_gateway', 'deft_worker', 'deft_runtime'];

// s select, i insert, u update, d delete; rights on other tables are limited by MOST.
const RIGHTS = {
  //                    fcgi    gateway worker  runtime
  admin_logins:         ['',     '',    '',     'siud'],
  api_keys:             ['siu',  's',   '',     ''],
  branches:             ['siu',  's',   's',    ''],
  budget_extensions:    ['siu',  '',    's',    ''],
  checkpoints:          ['si',   '',    'si',   ''],
  condensed_views:      ['',     '',    'siu',  ''],
  conversations:        ['siud', 'su',  'siu',  's'],
  documents:            ['siud', '',    's',    ''],
  egress_refusals:      ['',     '',    '',     'siud'],
  events:               ['sid',  'si',  'si',   ''],
  image_builds:         ['',     '',    '',     'siud'],
  jobs:                 ['sid',  'si',  'siud', ''],
  mcp_grant_tokens:     ['sid',  '',    'sid',  ''],
  mcp_grants:           ['siud', '',    'siud', ''],
  mcp_sign_ins:         ['siud', '',    '',     ''],
  model_outages:        ['s',    '',    'siu',  ''],
  preview_passes:       ['sid',  '',    '',     ''],
  preview_sessions:     ['sid',  '',    '',     ''],
  runtime_keys:         ['siu',  '',    '',     's'],
  runtimes:             ['su',   's',   '',     'siud'],
  secret_reads:         ['si',   '',    '',     ''],
  server_init:          ['si',   's',   's',    ''],
  sessions:             ['siud', 's',   '',     ''],
  sign_in_links:        ['siud', '',    '',     ''],
  spending:             ['s',    '',    'siu',  ''],
  task_waits:           ['sd',   '',    'siud', ''],
  users:                ['siu',  's',   's',    's'],
  warm_configs:         ['s',    '',    '',     'siud'],
  warm_sandboxes:       ['',     '',    '',     'siud'],
  webhook_cursors:      ['siu',  '',    'siud', ''],
  webhook_leftovers:    ['i',    '',    's',    ''],
  webhooks:             ['s',    '',    'siud', ''],
};
const MOST = ['siud', 's', 'siud', 'siud'];
const TABLES = "pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition";

test('each role has exactly the table rights that its process needs', async () => {
  const privilege = (letter, name) => `CASE WHEN has_table_privilege(r, c.oid, '${name}') THEN '${letter}' ELSE '' END`;
  const rows = await query(`SELECT c.relname, r, ${privilege('s', 'SELECT')} || ${privilege('i', 'INSERT')} || ${privilege('u', 'UPDATE')} || ${privilege('d', 'DELETE')},
    has_table_privilege(r, c.oid, 'TRUNCATE, REFERENCES, TRIGGER') FROM unnest('{${ROLES}}'::text[]) r, ${TABLES} ORDER BY 1, 2`);
  assert.ok(rows.length >= Object.keys(RIGHTS).length * ROLES.length);
  for (const [table, role, rights, more] of rows) {
    const i = ROLES.indexOf(role);
    if (RIGHTS[table]) assert.equal(rights, RIGHTS[table][i], `${role} on ${table}`);
    for (const letter of rights) assert.ok(MOST[i].includes(letter) || RIGHTS[table], `${role} on ${table}: ${rights}`);
    assert.equal(more, 'f', `${role} on ${table}: truncate, references or trigger`);
  }
  const partitions = await query(`SELECT c.relname, r FROM unnest('{${ROLES}}'::text[]) r, pg_class c WHERE c.relispartition AND has_table_privilege(r, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')`);
  assert.deepEqual(partitions, []);
});

test('no role of a process owns or creates anything, or is a member of another', async () => {
  const list = `'${ROLES.join("','")}'`;
  assert.deepEqual(await query(`SELECT rolname FROM pg_roles WHERE rolname IN (${list}) AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)`), []);
  assert.deepEqual(await query(`SELECT a.rolname, b.rolname FROM pg_auth_members m JOIN pg_roles a ON a.oid = m.member JOIN pg_roles b ON b.oid = m.roleid WHERE a.rolname IN (${list})`), []);
  assert.deepEqual(await query(`SELECT s.deptype, r.rolname FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid WHERE s.deptype = 'o' AND r.rolname IN (${list})`), []);
  const refused = ['CREATE TABLE t ()', 'CREATE TEMP TABLE t ()', 'CREATE SCHEMA s', 'CREATE ROLE r', 'CREATE DATABASE d', 'CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$SELECT 1$$',
    'ALTER TABLE events ADD COLUMN c int', 'ALTER ROLE deft NOLOGIN', 'DROP TABLE users', 'TRUNCATE events', 'SET ROLE deft', "COPY users TO '/tmp/deft-test'", "COPY users FROM PROGRAM 'id'",
    "SELECT pg_read_file('/etc/passwd')", 'ALTER SYSTEM SET fsync = off', 'CREATE EXTENSION dblink'];
  for (const role of ROLES) {
    const { stderr } = await run('psql', ['-XqAt', '-d', urlOf(role), ...refused.flatMap((sql) => ['-c', sql])]).catch((error) => error);
    const answers = stderr.split('\n').filter((line) => line.startsWith('ERROR:'));
    assert.equal(answers.length, refused.length, `${role}: ${stderr}`);
    for (const [i, answer] of answers.entries()) assert.match(answer, /permission denied|must be (owner|superuser|member)|must have/, `${role}: ${refused[i]}`);
  }
});

test('each process is connected as its role', async () => {
  const wanted = ROLES.map((role) => [role.replace('_', '-'), role]).sort();
  let found = [];
  await waitUntil(async () => {
    found = await query("SELECT DISTINCT application_name, usename FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name LIKE 'deft-%' ORDER BY 1");
    return found.length >= wanted.length;
  }, 60_000);
  assert.deepEqual(found, wanted);
});

test('a user of the host can connect as its own role only', async () => {
  const url = (role, database = 'deft') => `host=${DEFT_RUN}/pg user=${role} dbname=${database}`;
  const as = (user, ...place) =>
    run('setpriv', ['--reuid', user, '--regid', user, '--groups', 'deft', '--', 'psql', '-XqAt', '-d', url(...place), '-c', 'SELECT current_user']);
  for (const name of ['fcgi', 'gateway', 'worker']) {
    assert.equal((await as(`deft-${name}`, `deft_${name}`)).stdout, `deft_${name}\n`);
    for (const role of ['deft', 'postgres', ...ROLES.filter((one) => one !== `deft_${name}`)])
      await assert.rejects(as(`deft-${name}`, role), /Peer authentication failed|no pg_hba.conf entry/, `deft-${name} as ${role}`);
    await assert.rejects(as(`deft-${name}`, `deft_${name}`, 'postgres'), /no pg_hba.conf entry/);
  }
  for (const role of ['deft', ...ROLES]) await assert.rejects(as('deft-nginx', role), /Peer authentication failed/, role);
  assert.deepEqual(await query("SELECT type, database, user_name, auth_method FROM pg_hba_file_rules WHERE auth_method IS DISTINCT FROM 'peer'"), []);
});

test('hints are delivered between roles', async () => {
  // The gateway gets the worker's notifications: LISTEN and NOTIFY need no right.
  const { stdout } = await run('psql', ['-XqAt', '-d', urlOf('deft_gateway'), '-c', 'LISTEN deft_test', '-c',
    `\\! psql -Xq -d "${urlOf('deft_worker')}" -c "NOTIFY deft_test, 'words'"`, '-c', 'SELECT 1']);
  assert.match(stdout, /Asynchronous notification "deft_test" with payload "words"/);
});
