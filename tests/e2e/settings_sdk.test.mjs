// A user's stored objects, read by the official Python SDK.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Keeper } from './support/keeper.mjs';
import { Sdk } from './support/sdk.mjs';

let fake;
let sdk;
let keeper;

before(async () => {
  fake = await startModel();
  sdk = await Sdk.start(fake);
  keeper = await Keeper.make();
});

after(async () => {
  await sdk?.stop();
  await fake.close();
});

test('agent-server 96: the SDK reads model, secrets and servers of the settings', async () => {
  const docs = { url: 'https://mcp.example.test/mcp', headers: { Authorization: 'Bearer t' } };
  await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { llm: { model: 'openai/kept', api_key: 'sk-kept' }, mcp_config: { docs } } });
  await keeper.putSecret('TOKEN', 'value', 'a token');
  assert.deepEqual(await sdk.play('keeping.reads', { key: keeper.key }), {
    model: 'openai/kept', key: 'sk-kept', secrets: { TOKEN: ['a token', 'value'] }, servers: { docs: [docs.url, 'Bearer t'] },
  });
});

test('agent-server 96: settings have the members of the SDK\'s own models, and no others', async () => {
  const { agent_settings, conversation_settings } = await keeper.must(200, 'GET', '/api/settings');
  assert.deepEqual(await sdk.play('keeping.members', { agent_settings, conversation_settings }), []);
});
