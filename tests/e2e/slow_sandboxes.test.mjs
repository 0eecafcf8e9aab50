// Sandboxes that do not answer: they occupy only their users' slots.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Box } from './support/box.mjs';
import { Hostile } from './support/hostile.mjs';
import { Slow, assertOthersServed, headOf } from './support/slow.mjs';
import { waitUntil } from './support/wait.mjs';

const N_CALLS = 80;

// Forwarded calls have threads of their own; deft's own calls to a sandbox use those of the API.
describe('a sandbox that does not answer', () => {
  const asks = {
    'a forwarded call': ['/api/bash/execute_bash_command', '/api/bash/execute_bash_command', { command: 'true' }],
    'a call of deft\'s own': ['/api/skills', '/files/collect', { load_project: true, project_dir: '/workspace/project' }],
  };
  for (const [what, [path, asked, body]] of Object.entries(asks)) {
    test(`delays its own user only: ${what}`, async () => {
      const hostile = await Hostile.start();
      const held = [];
      hostile.answers.set(asked, (socket) => { held.push(socket); });
      const text = JSON.stringify(body);
      const head = headOf('POST', path, hostile.user.key, ['Content-Type: application/json', `Content-Length: ${text.length}`]);
      const calls = Array.from({ length: N_CALLS }, () => new Slow(head + text).read());
      try {
        await waitUntil(() => held.length >= 12 && calls.some(({ text: said }) => said.includes('Too many of your requests are already waiting')), 'as many wait as may, and one is told to come again');
        await assertOthersServed();
        assert.equal(await new Box().run('echo served'), 'served\n');
      } finally {
        for (const { socket } of calls) socket.destroy();
        for (const socket of held) socket.destroy();
        await hostile.close();
      }
    });
  }
});
