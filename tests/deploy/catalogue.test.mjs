// The catalogue: a process that cannot read it does not start, and names the file and the line.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DIR = join(process.env.DEFT_BIN, '../share/deft/catalogue');

const SOURCES = fileURLToPath(new URL('../../catalogue', import.meta.url));
const OWN = { DEFT_DATABASE_URL: 'host=/nonexistent', DEFT_SECRET_KEY: '00'.repeat(32), DEFT_GATEWAY_SOCKET: join(tmpdir(), 'deft-catalogue-gateway.sock') };

/** Starts the program, which must fail, and gives what it said. */
async function saying(program, env) {
  const failure = await run(join(process.env.DEFT_BIN, program), [], { env: { ...OWN, ...env }, timeout: 120_000 }).catch((error) => error);
  assert.notEqual(failure.code ?? 0, 0, program);
  return `${failure.stdout}${failure.stderr}`;
}

test('every text and table of the sources is installed', async () => {
  const texts = async (folder) => (await readdir(folder, { recursive: true })).filter((name) => /\.(txt|tsv)$/.test(name)).sort();
  assert.deepEqual(await texts(DIR), await texts(SOURCES));
});

test('a process does not start with a faulty override, and says which file and line', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deft-catalogue-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'prompt'));
  const faults = [
    ['prompt/role.txt', 'You help.\n{{user}}\n', /prompt\/role\.txt:2: no value is called .{1,2}user/],
    ['prompt/roll.txt', 'You help.\n', /prompt\/roll\.txt: the catalogue has no file of this name/],
    ['models.tsv', 'openai/gpt-4o\t1\n', /models\.tsv:1: a model has nine columns/],
  ];
  for (const [name, text, words] of faults) {
    await writeFile(join(folder, name), text);
    for (const program of ['deft-gateway', 'deft-worker']) {
      assert.match(await saying(program, { DEFT_CATALOGUE_DIR: DIR, DEFT_CATALOGUE_OVERRIDES: folder }), words, program);
    }
    await rm(join(folder, name));
  }
});

test('a process does not start without a catalogue', async () => {
  for (const program of ['deft-gateway', 'deft-worker']) {
    assert.match(await saying(program, { DEFT_CATALOGUE_DIR: '/nonexistent/folder' }), /open the folder \/nonexistent\/folder: No such file/, program);
  }
});
