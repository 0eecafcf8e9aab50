// How ./deft up starts the container engine, also after a crash of the host.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const LIB = `${dirname(process.env.DEFT)}/deploy/lib`;

test('a pid file of another program\'s pid is removed, a valid one is kept', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'deft-engine-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const note = join(dir, 'docker.pid');
  const forget = (program) => execFileSync('sh', ['-euc', '. "$1/engine.sh"; engine_forget "$2" "$3"', 'sh', LIB, note, program]);
  forget('dockerd');
  writeFileSync(note, `${process.pid}\n`);
  forget('node');
  assert.ok(existsSync(note));
  forget('dockerd');
  assert.ok(!existsSync(note));
  writeFileSync(note, '');
  forget('dockerd');
  assert.ok(!existsSync(note), 'torn when the host went down');
});

// Instances that end together: each removes its sandboxes, and the last one stops the engine.
test('the engine is needed by an instance until its down has ended', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'deft-engine-'));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, 'users'));
  const script = `. "$1/engine.sh"; ENGINE_STATE=$2 DEFT_RUN=$2 DEFT_INSTANCE=one
    echo none >"$2/runsvdir.pid"; engine_note_use; ! engine_has_users
    engine_note_use; engine_note_end; engine_has_users
    rm "$2/users/one"; engine_note_end; ! engine_has_users`;
  const { status } = spawnSync('sh', ['-euc', script, 'sh', LIB, dir]);
  assert.equal(status, 0);
});

// The engine's answers to both lists, as programs; the second is that of the instance.
for (const [which, answers, all, ours, runs] of [
  ['has containers of others', 'true', `echo '[{"Id":"1"},{"Id":"2"}]'`, `echo '[{"Id":"1"}]'`, true],
  ['has none of others', 'true', `echo '[{"Id":"1"}]'`, `echo '[{"Id":"1"}]'`, false],
  ['cannot list them', 'true', 'return 22', `echo '[]'`, true],
  ['cannot list ours', 'true', `echo '[]'`, 'return 22', true],
  ['does not answer', 'false', 'return 7', 'return 7', false],
]) {
  test(`an engine that ${which} is ${runs ? 'not ' : ''}stopped`, () => {
    const script = `. "$1/engine.sh"; DEFT_INSTANCE=one
      engine_answers() { ${answers}; }
      engine_call() { case $2 in *filters*) ${ours} ;; *) ${all} ;; esac; }
      engine_runs_others`;
    assert.equal(spawnSync('sh', ['-uc', script, 'sh', LIB]).status === 0, runs);
  });
}

// With another storage driver its images, containers and all sandboxes would be invisible.
for (const [which, has, tries] of [['that has images is not', 'true', ['as ever']], ['that is new is', 'false', ['as ever', '--storage-driver=vfs']]]) {
  test(`an engine ${which} tried with another storage driver when it does not start`, (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'deft-engine-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const script = `. "$1/engine.sh"; ENGINE_STATE=$2 DEFT_LOG=$2 DEFT_DOCKER_SOCKET=$2/docker.sock
      engine_has_images() { ${has}; }
      engine_run() { echo "\${*:-as ever}"; false; }
      engine_start`;
    const { status, stdout } = spawnSync('sh', ['-euc', script, 'sh', LIB, dir], { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.deepEqual(stdout.trim().split('\n'), tries);
  });
}

// Only the lines that this start logged count.
for (const [which, words, files] of [
  ['panics at half a network', 'github.com/docker/libnetwork.(*controller).reservePools(0x55)', ['local-kv.db.broken']],
  ['ends otherwise', 'no such thing', ['local-kv.db']],
]) {
  test(`an engine that ${which} at its start: its networks`, (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'deft-engine-'));
    t.after(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, 'engine.log'), 'libnetwork.(*controller).reservePools(0x54)\n');
    writeFileSync(join(dir, 'local-kv.db'), '');
    const script = `. "$1/engine.sh"; ENGINE_STATE=$2 ENGINE_NETWORKS=$2 DEFT_LOG=$2 DEFT_DOCKER_SOCKET=$2/docker.sock
      engine_has_images() { true; }
      engine_note_use() { :; }
      engine_run() { [ ! -e "$2/local-kv.db" ] || { echo "$3" >>"$DEFT_LOG/engine.log"; false; }; }
      engine_start`.replaceAll('$2/local', `${dir}/local`).replace('"$3"', `'${words}'`);
    const { status } = spawnSync('sh', ['-euc', script, 'sh', LIB, dir], { encoding: 'utf8' });
    assert.equal(status === 0, files[0] !== 'local-kv.db');
    assert.deepEqual(readdirSync(dir).filter((name) => name.startsWith('local')), files);
  });
}
