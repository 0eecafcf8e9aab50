// A conversation's idle sandbox: its next use finds its files and programs, without an explicit resume.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Box } from './support/box.mjs';
import { Conversation, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const RUNTIME = "SELECT r.id, r.status, r.url, r.spec ->> 'home' AS home FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id WHERE c.id = :'id'";

let fake;
before(async () => {
  fake = await startModel();
  fake.setScenario('look', [{ calls: [terminal('cat kept.txt; kill -0 $(cat pid) && echo lives')] }, { text: 'over' }]);
});
after(() => fake.close());

const runtimeOf = async (one) => (await query(RUNTIME, { id: one.id }))[0];

/** Pauses it as the service does with an idle one. */
async function letRest(one) {
  const { id } = await runtimeOf(one);
  await execute("UPDATE runtimes SET desired = 'paused', updated_at = now() WHERE id = :'id'", { id });
  await waitUntil(async () => (await runtimeOf(one)).status === 'paused', 'the sandbox rests');
}

test('any use of an idle sandbox finds its files and programs', async (t) => {
  const one = await Conversation.create(startRequest(llmOf(fake, 'look'), { conversation_runtime: 'docker' }));
  t.after(() => one.delete());
  const box = new Box(one.path);
  await box.run('echo kept > kept.txt; git init -q . ; setsid sleep 300 >/dev/null 2>&1 & echo $! > pid');
  const { url } = await runtimeOf(one);
  const uses = {
    command: async () => assert.equal(await box.run('kill -0 $(cat pid) && cat kept.txt'), 'kept\n'),
    download: async () => assert.equal((await box.download(`${WORKING_DIR}/kept.txt`)).text, 'kept\n'),
    upload: async () => assert.equal((await box.upload(`${WORKING_DIR}/new.txt`, 'new')).status, 200),
    git: async () => assert.ok((await box.must(200, 'GET', '/git/changes', { query: { path: WORKING_DIR } })).length > 0),
    snapshot: async () => {
      const archive = await box.call('GET', '/file/archive', { query: { path: WORKING_DIR, format: 'tar.gz' } });
      assert.deepEqual([archive.status, archive.headers.get('content-type')], [200, 'application/gzip']);
    },
    run: async () => {
      assert.equal(await one.ask('go on'), 'finished');
      const [result] = (await one.events()).filter(isResult('terminal'));
      assert.match(observed(result), /kept\s+lives/);
    },
  };
  for (const [name, use] of Object.entries(uses)) {
    await letRest(one);
    await t.test(name, use);
    assert.deepEqual(await runtimeOf(one).then((row) => [row.status, row.url]), ['running', url]);
  }
});

test('deleting a conversation removes its idle sandbox', async () => {
  const one = await Conversation.create(startRequest(llmOf(fake, 'look'), { conversation_runtime: 'docker' }));
  await new Box(one.path).run('true');
  await letRest(one);
  const { id } = await runtimeOf(one);
  await one.delete();
  await waitUntil(async () => (await query("SELECT 1 FROM runtimes WHERE id = :'id'", { id })).length === 0, 'its row is gone, and with it container and volumes');
});
