// Files of an instance whose processes had one user in common.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { uidOfUser } from './accounts.mjs';

const run = promisify(execFile);
const { DEFT, DEFT_RUN, DEFT_SERVICES } = process.env;
const VAR = dirname(DEFT_SERVICES);

test('up migrates files that one user owned for all processes', { timeout: 240_000 }, async () => {
  const before = (await run(DEFT, ['key', '--list'])).stdout;
  for (const name of ['nginx', 'gateway', 'fcgi', 'worker', 'runtime', 'resolver', 'postgres']) await run('sv', ['-w', '60', 'down', `${DEFT_SERVICES}/${name}`]);
  const gid = Number(execFileSync('id', ['-g', 'deft-worker'], { encoding: 'utf8' }));
  const former = uidOfUser('deft-worker'); // stands for the one user that all had
  execFileSync('chown', ['-R', `${former}:${gid}`, `${VAR}/pg`, `${VAR}/log/fcgi`, `${VAR}/log/postgres`]);
  await chown(DEFT_RUN, former, gid);
  await chmod(DEFT_RUN, 0o700);
  await run(DEFT, ['up']);
  assert.equal((await stat(`${VAR}/pg/data`)).uid, uidOfUser('deft-postgres'));
  assert.equal((await stat(`${VAR}/pg/data/base`)).uid, uidOfUser('deft-postgres'));
  assert.equal((await stat(`${VAR}/log/fcgi/current`)).uid, uidOfUser('deft-log'));
  assert.equal((await run(DEFT, ['key', '--list'])).stdout, before);
  await run(DEFT, ['status']);
});
