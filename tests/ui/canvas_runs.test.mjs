// OpenHands' own page, used as by a person: runs that are stopped, and actions that wait for confirmation.
import { test } from 'node:test';
import { must } from '../e2e/support/api.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { at, begin, command, key, LONG, open, reaches, say, shown } from './canvas_person.mjs';

test('agent-server 63: stop ends a command at once', LONG, async () => {
  const id = await begin('Wait', [command('echo begun; sleep 300'), { text: 'Done waiting.' }]);
  await reaches(id, 'running');
  await at('stop-button').first().click();
  await reaches(id, 'paused');
  await say('Go on', [{ text: 'Here I am again.' }]);
  await shown('Here I am again.');
});

test('agent-server 63: a risky action waits for confirmation', LONG, async () => {
  await open('/settings/verification');
  await at('verification-settings-screen').getByText('Confirmation Mode').click();
  await at('save-button').click();
  await waitUntil(async () => (await must(200, 'GET', '/api/settings', { key })).conversation_settings.confirmation_mode, 'it is saved');
  const id = await begin('Risk it', [command('echo risky', 'HIGH'), { text: 'It went well.' }]);
  await reaches(id, 'waiting_for_confirmation');
  await at('action-confirm-button').click();
  await shown('It went well.');
  await reaches(id, 'finished');
  await say('Once more', [command('echo riskier', 'HIGH'), { text: 'It was not done.' }]);
  await reaches(id, 'waiting_for_confirmation');
  await at('action-reject-button').click();
  await reaches(id, 'idle');
});
