// Commands of clients, in the shared sandbox and in a conversation's.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, after, describe, test } from 'node:test';
import { call, getWithBody } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { waitUntil } from './support/wait.mjs';

const HEX = /^[0-9a-f]{32}$/;
const MIB = 1 << 20;
const model = { model: 'scripted/hello', usage_id: 'agent' };

let one;
const boxes = () => [['shared', new Box()], ['scoped', new Box(one.path)]];
before(async () => { one = await Conversation.create(startRequest(model)); });
after(() => one.delete());

const search = (box, query) => box.must(200, 'GET', '/bash/bash_events/search', { query });
const start = (box, command, more = {}) => box.must(200, 'POST', '/bash/start_bash_command', { json: { command, ...more } });
const execute = (box, command, more = {}) => box.must(200, 'POST', '/bash/execute_bash_command', { json: { command, ...more } });

/** All outputs of a command, once it is over, page by page. */
async function outputs(box, id) {
  return waitUntil(async () => {
    const { items } = await search(box, { command_id__eq: id });
    return items.at(-1)?.exit_code !== null && items.length > 0 && items;
  }, `command ${id} is over`);
}

describe('bash commands', () => {
  test('agent-server 51: a background command produces one output event with both streams', async () => {
    for (const [name, box] of boxes()) {
      const command = await start(box, 'echo out; echo err >&2; exit 3');
      assert.match(command.id, HEX, name);
      assert.deepEqual([command.kind, command.cwd === null || command.cwd === WORKING_DIR, command.timeout], ['BashCommand', true, 300]);
      const [output, ...more] = await outputs(box, command.id);
      assert.deepEqual(more, []);
      assert.match(output.id, HEX);
      assert.deepEqual([output.exit_code, output.stdout, output.stderr, output.order, output.command_id], [3, 'out\n', 'err\n', 0, command.id]);
      assert.deepEqual((await search(box, { command_id__eq: command.id, order__gt: 0 })).items, []);
      assert.deepEqual((await search(box, { command_id__eq: `${command.id.slice(0, 8)}-${command.id.slice(8, 12)}-${command.id.slice(12, 16)}-${command.id.slice(16, 20)}-${command.id.slice(20)}` })).items, [output]);
    }
  });

  test('agent-server 52: a time limit, an unknown command and a missing folder are reported', async () => {
    for (const [, box] of boxes()) {
      const late = await execute(box, 'echo begun; sleep 30', { timeout: 5 });
      assert.deepEqual([late.exit_code, late.stdout], [-1, 'begun\n']);
      assert.equal((await box.call('POST', '/bash/execute_bash_command', { json: {} })).status, 422);
      const nowhere = await execute(box, 'pwd', { cwd: `${WORKING_DIR}/no/such` });
      assert.equal(nowhere.exit_code, -1);
      assert.match(nowhere.stderr, /^Error executing command: /);
    }
  });

  test('agent-server 53: large output arrives in pieces that add up to the whole', async () => {
    for (const [, box] of boxes()) {
      const { id } = await start(box, 'i=0; while [ $i -lt 3145728 ]; do echo $i; i=$((i + 8)); done');
      const pieces = await outputs(box, id);
      const text = pieces.map(({ stdout }) => stdout ?? '').join('');
      assert.deepEqual(pieces.map(({ order }) => order), pieces.map((_, i) => i));
      assert.ok(pieces.length > 1);
      assert.equal(text, Array.from({ length: 3145728 / 8 }, (_, i) => `${i * 8}\n`).join(''));
      assert.deepEqual(pieces.slice(0, -1).map(({ exit_code: code }) => code), pieces.slice(0, -1).map(() => null));
    }
  });

  test('agent-server 73: execute_bash_command returns all output of a command', async () => {
    for (const [, box] of boxes()) {
      const { stdout, exit_code: code } = await execute(box, "head -c 3145728 /dev/zero | tr '\\0' x");
      assert.deepEqual([stdout.length, code], [3 * MIB, 0]);
    }
  });

  test('agent-server 72: a command can be stopped, even immediately, and reports how it ended', async () => {
    for (const [, box] of boxes()) {
      const ready = `/tmp/ready-${randomUUID()}`;
      const { id } = await start(box, `trap "exit 7" TERM; touch ${ready}; while :; do sleep 0.1; done`);
      const stop = (which) => box.call('POST', `/bash/bash_commands/${which}/stop`);
      const early = await start(box, 'exec sleep 60');
      assert.equal((await stop(early.id)).status, 200);
      assert.equal((await outputs(box, early.id)).at(-1).exit_code, -15);
      await box.run(`while ! test -e ${ready}; do sleep 0.05; done; rm ${ready}`);
      assert.deepEqual((await stop(id)).json, { success: true });
      assert.equal((await outputs(box, id)).at(-1).exit_code, 7);
      assert.deepEqual((await stop(id)).json, { success: true });
      assert.equal((await stop(randomUUID())).status, 404);
      assert.equal((await stop('xyz')).status, 422);
    }
  });

  test('agent-server 69: a conversation has its own list of commands, and its folder', async () => {
    const [, [, box]] = boxes();
    const own = await execute(box, 'pwd');
    assert.equal(own.stdout, `${WORKING_DIR}\n`);
    const event = await box.must(200, 'GET', `/bash/bash_events/${own.id}`);
    assert.equal(event.command_id, own.command_id);
    assert.equal((await call('GET', `/api/bash/bash_events/${own.id}`)).status, 404);
    assert.equal((await call('GET', '/api/bash/bash_events/search', { query: { command_id__eq: own.command_id } })).json.items.length, 0);
  });

  test('events are read by id, in batches, and cleared within one list only', async () => {
    for (const [, box] of boxes()) {
      const { id, command_id: command } = await execute(box, 'echo x');
      const unknown = '0'.repeat(32);
      assert.equal((await box.must(200, 'GET', `/bash/bash_events/${command}`)).kind, 'BashCommand');
      assert.equal((await box.call('GET', `/bash/bash_events/${unknown}`)).status, 404);
      const batch = await getWithBody(`${box.prefix}/bash/bash_events/`, JSON.stringify([command, unknown, id]));
      assert.deepEqual(batch.json.map((event) => event?.id ?? null), [command, null, id]);
    }
    const [[, shared], [, scoped]] = boxes();
    const kept = await execute(shared, 'echo kept');
    const { cleared_count: n } = await scoped.must(200, 'DELETE', '/bash/bash_events');
    assert.ok(n >= 2);
    assert.deepEqual((await search(scoped, {})).items, []);
    assert.equal((await shared.must(200, 'GET', `/bash/bash_events/${kept.id}`)).stdout, 'kept\n');
  });
});

describe('files', () => {
  test('agent-server 54: uploaded files are downloaded unchanged', async () => {
    const dir = `${WORKING_DIR}/box-up-${randomUUID().slice(0, 8)}`;
    for (const [name, box] of boxes()) {
      const bytes = Buffer.from(Array.from({ length: 70000 }, (_, i) => (i * 7919) % 256));
      const path = `${dir}/${name}/näme with "quotes" & +.bin`;
      const up = await box.upload(path, bytes);
      assert.deepEqual([up.status, up.json], [200, { success: true, file_size: bytes.length }]);
      assert.deepEqual((await box.download(path)).bytes, bytes);
      const missing = await box.download(`${dir}/none`);
      assert.deepEqual([missing.status, missing.json.detail], [404, 'File not found']);
      const folder = await box.download(dir);
      assert.deepEqual([folder.status, folder.json.detail], [400, 'Path is not a file']);
    }
    assert.equal((await new Box().upload('relative', 'x')).status, 400);
    assert.equal((await new Box().download('relative')).status, 400);
    const old = await call('GET', `/api/file/download${encodeURI(dir)}/none`);
    assert.equal(old.status, 404);
  });

  test('agent-server 102: the size of an upload is reported, and a file cannot replace a folder', async () => {
    const path = `${WORKING_DIR}/box-size-${randomUUID().slice(0, 8)}`;
    const shared = new Box();
    assert.deepEqual((await shared.upload(path, 'twelve bytes')).json, { success: true, file_size: 12 });
    assert.equal((await shared.upload(path, '')).json.file_size, 0);
    for (const [target, detail] of [[WORKING_DIR, 'Path is a directory'], [`${path}/below`, 'A parent of the path is not a directory']]) {
      const answer = await shared.upload(target, 'x');
      assert.deepEqual([answer.status, answer.json.detail], [400, detail]);
    }
  });

  test('agent-server 70: scoped routes reach nothing outside the workspace', async () => {
    const scoped = new Box(one.path);
    const detail = (answer) => [answer.status, answer.json?.detail];
    const outside = [422, 'path must be inside the conversation workspace'];
    assert.deepEqual(detail(await scoped.call('POST', '/bash/execute_bash_command', { json: { command: 'pwd', cwd: '/etc' } })), [422, 'cwd must be inside the conversation workspace']);
    assert.deepEqual(detail(await scoped.upload('/etc/x', 'x')), outside);
    assert.deepEqual(detail(await scoped.download('relative')), outside);
    assert.deepEqual(detail(await scoped.call('GET', '/git/changes', { query: { path: '/etc' } })), outside);
    const unknown = randomUUID();
    assert.deepEqual(detail(await call('GET', `/api/conversations/${unknown}/file/download`, { query: { path: WORKING_DIR } })), [404, `Conversation not found: ${unknown}`]);
  });
});
