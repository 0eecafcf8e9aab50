// Migrations that were killed: the next one continues them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { assertCarried, create, env, folder, host, migrate, name, psql, target, user } from './migration.mjs';

/** True when a child of that process is a flock that sleeps. (/proc/locks shows no waiter for a lock whose taker is gone.) */
async function waitsForFile({ pid }) {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  const stats = await Promise.all(children.map((child) => readFile(`/proc/${child}/stat`, 'utf8').catch(() => '')));
  return stats.some((stat) => /^\d+ \(flock\) S /.test(stat));
}

// A database each, so they run side by side.
describe('killed migrations', { concurrency: 2 }, () => {
  test('a migration killed when some steps were recorded is continued', async () => {
    await create('part', name('head'));
    const child = spawn('sh', [`${folder('part')}migrate.sh`, target('part')], { env, detached: true });
    await new Promise((resolve) => {
      let text = '';
      child.stdout.on('data', (data) => {
        text += data;
        if (/\+ conversations/.test(text)) resolve();
      });
      child.on('exit', resolve);
    });
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      assert.equal(error.code, 'ESRCH', 'it was too fast');
    }
    await migrate('part');
    await assertCarried('part');
  });

  test('a migration waits for a step that a killed one left in progress', async () => {
    await create('orphan', name('head'));
    const holder = spawn('psql', ['-qAtX', '-h', host, '-U', user, '-d', name('orphan')], { stdio: ['pipe', 'pipe', 'ignore'] });
    holder.stdin.write('BEGIN; LOCK TABLE jobs; SELECT 1;\n');
    await once(holder.stdout, 'data');
    const waits = (n) => psql(name('orphan'), '-c', `SELECT count(*) = ${n} FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND NOT l.granted`);
    const killed = spawn('sh', [`${folder('orphan')}migrate.sh`, target('orphan')], { env, stdio: 'ignore' });
    while ((await waits(1)) !== 't') assert.equal(killed.exitCode, null);
    const sqitches = (await readFile(`/proc/${killed.pid}/task/${killed.pid}/children`, 'utf8')).trim().split(' ');
    killed.kill('SIGKILL');
    for (const pid of sqitches) process.kill(Number(pid), 'SIGKILL');
    const next = spawn('sh', [`${folder('orphan')}migrate.sh`, target('orphan')], { env, stdio: 'ignore' });
    const ended = once(next, 'exit');
    while (!(await waitsForFile(next))) assert.equal(next.exitCode, null);
    holder.stdin.end('COMMIT;\n');
    assert.deepEqual(await ended, [0, null]);
    await assertCarried('orphan');
  });
});
