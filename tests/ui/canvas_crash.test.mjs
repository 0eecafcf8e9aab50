// OpenHands' own page, used as by a person: a crash of deft.
import { test } from 'node:test';
import { killEverything } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { begin, command, fake, forgive, LONG, page, say, shown } from './canvas_person.mjs';

test('agent-server 63: all processes but the database are killed during a command, and the page continues', LONG, async () => {
  await begin('Survive', [command('sleep 8; echo survived'), { text: 'Still here.' }]);
  await page.getByTestId('user-message').waitFor();
  await waitUntil(() => fake.requests.some(({ body }) => JSON.stringify(body?.messages ?? '').includes('Survive')), 'the model is asked');
  forgive();
  await killEverything();
  await shown('Still here.');
  await say('Are you there?', [{ text: 'All of me.' }]);
  await shown('All of me.');
});
