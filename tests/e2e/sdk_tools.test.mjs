// The official Python SDK attaches without the tools of a conversation, and lends it tools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from './support/conversation.mjs';
import { Sdk, sdkWithModel } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

const TOOLS = ['terminal', 'file_editor', 'task_tracker'];

test('agent-server 85: a process without tools attaches to a conversation with tools', async () => {
  const sent = { terminal: 'openhands.tools.terminal.definition' };
  const conversation = await Conversation.start(fake, 'hello', { tool_module_qualnames: sent });
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
  const { tool_module_qualnames: told } = await conversation.info();
  assert.deepEqual(told, {
    ...sent, file_editor: 'openhands.tools.file_editor.definition', task_tracker: 'openhands.tools.task_tracker.definition',
  });
  const other = await Sdk.start(fake);
  const seen = await other.play('returning.unprepared', { conversation_id: conversation.id });
  assert.deepEqual(seen.tools, TOOLS);
  assert.equal(seen.kinds.filter((kind) => kind === 'ActionEvent').length, 5);
  assert.deepEqual(await other.play('returning.importable', { modules: Object.values(told) }), Object.values(told));
  await other.stop();
  assert.equal(await conversation.delete(), 200);
});

test('calls of a client tool match its schema, others are refused', async () => {
  const show = (args) => ({ calls: [{ name: 'show_card', arguments: args }] });
  fake.setScenario('cards', [show({ title: 'T', n: 2, summary: 'shows it', security_risk: 'LOW' }), show({ n: 2 }), show({ title: 'T', n: 'many' }), { text: 'done' }]);
  assert.deepEqual(await sdk.play('talk.lends_tools', { scenario: 'cards' }), {
    actions: [{ title: 'T', n: 2 }, null, null], summaries: ['shows it', null, null], errors: ['show_card', 'show_card'], end: 'finished',
  });
});
