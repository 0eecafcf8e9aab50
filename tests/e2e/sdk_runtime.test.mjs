// The SDK's workspace that starts its own sandbox with the Runtime API, as published.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { APP_URL, DEFT } from './support/instance.mjs';
import { Sdk } from './support/sdk.mjs';

const URL = `${APP_URL}/runtime-api`;
const image = process.env.DEFT_SANDBOX_IMAGE ?? 'deft-sandbox:1';

let fake;
let sdk;
let key;

before(async () => {
  fake = await startModel();
  sdk = await Sdk.start(fake);
  key = execFileSync(DEFT, ['key', '--runtime', `test-${randomUUID()}`]).toString().trim();
});

after(async () => {
  await sdk?.stop();
  await fake.close();
});

const statuses = async () => {
  const { json } = await call('GET', '/runtime-api/list', { url: APP_URL, key: null, headers: { 'x-api-key': key } });
  return json.runtimes.map(({ status }) => status);
};

const play = (name) => sdk.play(name, { url: URL, key, image }, { answers: { runtimes: statuses } });

test('a sandbox is started, a conversation runs in it, and it is removed completely', async () => {
  const seen = await play('sandboxes.works');
  assert.equal(seen.sum, '42\n');
  assert.equal(seen.status, 'finished');
  assert.deepEqual(seen.calls, ['terminal', 'file_editor', 'terminal', 'file_editor', 'terminal', 'finish']);
  assert.equal(seen.file, 0, 'the file is in that sandbox');
  assert.deepEqual([seen.meanwhile, seen.afterwards], [['running'], []]);
});

test('runtime 9: a sandbox is paused, resumed, detached, and attached again with its files', async () => {
  assert.deepEqual(await play('sandboxes.rests'), { paused: ['paused'], here: 'kept\n', again: 'kept\n', afterwards: [] });
});

test('a paused sandbox is resumed by a client that attaches to it', async () => {
  assert.deepEqual(await play('sandboxes.waits'), { paused: ['paused'], works: 0 });
});
