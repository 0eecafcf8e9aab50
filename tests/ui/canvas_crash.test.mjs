// OpenHands' own page, used as by a person: a crash of deft.
import { test } from 'node:test';
import { pidOf, signal } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { begin, canvas, command, fake, LONG, page, say, shown } from './canvas_person.mjs';

const ALL_BUT_THE_DATABASE = ['nginx', 'fcgi', 'gateway', 'worker', 'runtime'];

test('agent-server 63: all processes but the database are killed during a command, and the page continues', LONG, async () => {
  await begin('Survive', [command('sleep 8; echo survived'), { text: 'Still here.' }]);
  await page.getByTestId('user-message').waitFor();
  await waitUntil(() => fake.requests.some(({ body }) => JSON.stringify(body?.messages ?? '').includes('Survive')), 'the model is asked');
  const old = ALL_BUT_THE_DATABASE.map((name) => [name, signal(name, 'SIGKILL')]);
  await waitUntil(() => old.every(([name, pid]) => pidOf(name) !== null && pidOf(name) !== pid), 'everything is started again');
  await shown('Still here.');
  await say('Are you there?', [{ text: 'All of me.' }]);
  await shown('All of me.');
  // Requests that failed while the server was down, and what the page said of them.
  canvas.faults.splice(0);
  await page.evaluate(() => window.toasts.splice(0));
});
