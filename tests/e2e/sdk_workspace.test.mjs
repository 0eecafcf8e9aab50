// The official Python SDK's workspaces, of a key and of a conversation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { Conversation } from './support/conversation.mjs';
import { sdkWithModel } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

/** The SDK's messages for a command that takes too long and a missing file. */
const TOLD = { expected: [/Command timed out after 1 seconds/, /file download failed: .*404 Not Found/] };

/** The expected results of a workspace of either kind. */
function assertWorked(seen, folder) {
  assert.equal(seen.alive, true);
  assert.equal(seen.title, 'OpenHands Agent Server');
  assert.deepEqual(seen.plain, [3, 'out\n', 'err\n', false]);
  assert.deepEqual(seen.where, [0, `${folder}\n`, '', false]);
  assert.equal(seen.late, -1);
  assert.notEqual(seen.stopped, 0);
  assert.deepEqual([seen.sent, seen.memory, seen.back], [[true, 200_000], [true, 16], [true, 200_000]]);
  assert.ok(seen.equal, 'what came back is what was sent');
  assert.equal(seen.read, 'from memory: ü\n');
  assert.equal(seen.missing, false);
}

function assertGit(seen) {
  assert.equal(seen.made[0], 0, seen.made[2]);
  assert.deepEqual(seen.changes, [['ADDED', 'b.txt'], ['DELETED', 'c.txt'], ['UPDATED', 'a.txt']]);
  assert.deepEqual(seen.diff, ['one', 'two']);
  assert.deepEqual(seen.gone, ['was', '']);
}

for (const kind of ['sync', 'async']) {
  const folder = `/workspace/${randomUUID()}`;

  test(`agent-server 62: the workspace of a key, ${kind}`, async () => {
    await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `mkdir -p ${folder}` } });
    assertWorked(await sdk.play('places.work', { kind, folder }, TOLD), folder);
    assertGit(await sdk.play('places.changes', { kind, folder }));
  });

  test(`agent-server 79: the workspace of a conversation, ${kind}`, async () => {
    const conversation = await Conversation.start(fake, 'text', {
      conversation_runtime: 'docker', workspace: { kind: 'LocalWorkspace', working_dir: folder },
    });
    const scope = { kind, folder, conversation_id: conversation.id };
    assertWorked(await sdk.play('places.work', scope, TOLD), folder);
    assertGit(await sdk.play('places.changes', scope));
    assert.equal(await conversation.delete(), 200);
  });

  test(`agent-server 75: a key for the sandbox, and its release, ${kind}`, async () => {
    const conversation = await Conversation.start(fake, 'text', { conversation_runtime: 'docker' });
    const other = await Conversation.start(fake, 'text', { conversation_runtime: 'docker' });
    const use = async (key) => {
      const pwd = { key, json: { command: 'pwd' } };
      assert.equal((await conversation.must(200, 'POST', '/bash/execute_bash_command', pwd)).exit_code, 0);
      assert.equal((await other.call('POST', '/bash/execute_bash_command', pwd)).status, 404);
    };
    await sdk.play('places.lends', { kind, conversation_id: conversation.id }, { answers: { 'use the key': use } });
    assert.equal((await conversation.must(200, 'GET', '/runtime')).runtime_status, 'missing');
    for (const one of [conversation, other]) assert.equal(await one.delete(), 200);
  });
}
