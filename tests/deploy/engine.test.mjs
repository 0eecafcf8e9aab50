// How ./deft up starts the container engine: not taken in by what a host that went down has left.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

const LIB = `${dirname(process.env.DEFT)}/deploy/lib`;

test('a note of a pid that is another program\'s by now is taken away, one that is true stays', (t) => {
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

// Its images, containers and all sandboxes would be gone with another storage driver.
for (const [which, has, tries] of [['that has images is not', 'true', ['as ever']], ['that is new is', 'false', ['as ever', '--storage-driver=vfs']]]) {
  test(`an engine ${which} tried with another storage driver when it does not come up`, (t) => {
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

// Of the log only what this start wrote counts.
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
