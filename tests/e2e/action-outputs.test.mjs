// Terminal output above the limit is saved completely in a folder of bounded size, and the notice names the file.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { test } from 'node:test';
import { ActionServer, Conversation } from './support/action-server.mjs';

const NOTICE = /<response clipped><NOTE>The middle of the output was left out because it is too long\. All of it is in (\S+); what was left out begins in line (\d+)\.<\/NOTE>/;

async function start(t, env = {}) {
  const server = new ActionServer(env);
  server.env.DEFT_ACTION_SAVE_DIR ??= `${server.dir}/saved/here`;
  await server.start();
  t.after(() => server.stop());
  return { server, talk: new Conversation(server), folder: server.env.DEFT_ACTION_SAVE_DIR };
}

test('runtime 56, 57: twenty thousand lines are saved completely; the notice names the file and the line of the cut', async (t) => {
  const { talk, folder } = await start(t);
  const seen = await talk.terminal('seq 20000; (exit 7)');
  assert.deepEqual([seen.exit_code, seen.full_output_save_dir, seen.text.length], [7, folder, 30000]);
  const [notice, file, line] = NOTICE.exec(seen.text);
  const whole = fs.readFileSync(file, 'utf8');
  assert.equal(whole, Array.from({ length: 20000 }, (_, i) => `${i + 1}\n`).join(''));
  assert.equal(file, `${folder}/terminal_output_${createHash('sha256').update(whole).digest('hex').slice(0, 8)}.txt`);
  const head = seen.text.slice(0, seen.text.indexOf(notice));
  assert.equal(Number(line), head.split('\n').length);
  assert.ok(whole.startsWith(head));
  assert.ok(seen.text.endsWith('19999\n20000'));
  assert.deepEqual(fs.readdirSync(folder).length, 1);
  const short = await talk.terminal('echo short');
  assert.deepEqual([short.text, 'full_output_save_dir' in short], ['short', false]);
});

test('a saved output is bounded, and beyond 32 files the oldest are deleted', async (t) => {
  const { talk, folder } = await start(t);
  const big = await talk.terminal("head -c 20000000 /dev/zero | tr '\\0' 'x'", { timeout: 60 });
  const [, file] = NOTICE.exec(big.text);
  assert.equal(fs.statSync(file).size, 8 * 1024 * 1024);
  for (let i = 0; i < 33; i++) assert.match((await talk.terminal(`echo ${i}; seq 8000`)).text, NOTICE);
  assert.equal(fs.readdirSync(folder).length, 32);
  assert.ok(!fs.existsSync(file));
});

test('if outputs cannot be saved, the notice names no file', async (t) => {
  for (const folder of ['', '/proc/no/such']) {
    const { talk } = await start(t, { DEFT_ACTION_SAVE_DIR: folder });
    const seen = await talk.terminal('seq 20000');
    assert.deepEqual([seen.exit_code, seen.text.length, 'full_output_save_dir' in seen], [0, 30000, false]);
    assert.match(seen.text, /Send long output to a file/);
  }
});
