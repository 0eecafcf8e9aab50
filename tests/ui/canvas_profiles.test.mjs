// OpenHands' own page, used as by a person: profiles, secrets and the condenser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, must } from '../e2e/support/api.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { at, begin, fake, key, LONG, open, page, reaches, say, settings, shown } from './canvas_person.mjs';

const SECRET = 'MY_TOKEN';

test('agent-server 63: a secret is stored and deleted, and its value is never shown', LONG, async () => {
  await open('/settings/secrets');
  await at('add-secret-button').click();
  await at('name-input').fill(SECRET);
  await at('value-input').fill('value-of-the-secret');
  await at('submit-button').last().click();
  await at('secret-item').getByText(SECRET).waitFor();
  assert.equal((await call('GET', `/api/settings/secrets/${SECRET}`, { key })).text, 'value-of-the-secret');
  assert.doesNotMatch(await page.content(), /value-of-the-secret/);
  await at('delete-secret-button').click();
  await at('confirm-button').click();
  await at('secrets-empty').waitFor();
});

test('agent-server 63: after a switch of the profile its model answers', LONG, async () => {
  fake.setScenario('other', [{ text: 'The other speaks.' }]);
  const { llm } = (await must(200, 'GET', '/api/settings', { key, headers: { 'x-expose-secrets': 'encrypted' } })).agent_settings;
  await must(201, 'POST', '/api/profiles/other', { key, json: { llm: { ...llm, model: 'openai/other' }, include_secrets: true } });
  const id = await begin('Who is it?', [{ text: 'It is me.' }]);
  await shown('It is me.');
  await reaches(id, 'finished');
  await at('interactive-chat-box').getByTestId('chat-input-llm-profile').click();
  await at('chat-input-llm-profile-option-other').click();
  await shown('Switched to profile');
  await say('And now?', []);
  await shown('The other speaks.');
});

test('agent-server 63: an agent profile is made, edited and deleted', LONG, async () => {
  const row = at('agent-profile-row').filter({ hasText: 'helper' });
  const toolsOf = async () => (await must(200, 'GET', '/api/agent-profiles/helper', { key })).profile.tools.map(({ name }) => name);
  await open('/settings/agents');
  await at('add-agent-profile').click();
  await at('agent-profile-name-input').fill('helper');
  await page.getByText('Enable sub-agents').click();
  await at('save-agent-profile-btn').click();
  await row.waitFor();
  assert.ok((await toolsOf()).includes('task_tool_set'));
  await row.getByTestId('agent-profile-menu-trigger').click();
  await at('agent-profile-edit').click();
  await waitUntil(async () => await at('agent-profile-name-input').inputValue() === 'helper', 'the profile is in the form');
  await page.getByText('Enable sub-agents').click();
  await at('save-agent-profile-btn').click();
  await waitUntil(async () => !(await toolsOf()).includes('task_tool_set'), 'the change is kept');
  await row.getByTestId('agent-profile-menu-trigger').click();
  await at('agent-profile-delete').click();
  await page.getByRole('dialog').getByRole('button', { name: /delete|confirm/i }).last().click();
  await row.waitFor({ state: 'detached' });
});

test('agent-server 63: the condenser is configured', LONG, async () => {
  await open('/settings/condenser');
  await at('sdk-section-all-toggle').click();
  await at('sdk-settings-condenser.max_size').fill('90');
  await at('save-button').click();
  await waitUntil(async () => (await settings()).agent_settings.condenser.max_size === 90, 'it is kept');
});
