// OpenHands' own page, used as by a person: workspaces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must } from '../e2e/support/api.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { at, command, fake, key, lastStep, LONG, MODEL, open, page, shown } from './canvas_person.mjs';

/** Adds the folder that is found below home; resolves with its path. */
async function addWorkspace(folders) {
  const before_ = (await must(200, 'GET', '/api/workspaces', { key })).workspaces;
  await open('/');
  await at('conversation-panel-new-thread-picker').click();
  await at('add-workspaces-button').click();
  await at('folder-browser-entry-workspace').waitFor();
  for (const folder of folders) await at(`folder-browser-entry-${folder}`).click();
  await at('folder-browser-use').click();
  return waitUntil(async () => {
    const { workspaces } = await must(200, 'GET', '/api/workspaces', { key });
    return workspaces.find(({ path }) => !before_.some((held) => held.path === path))?.path;
  }, 'it is kept');
}

/** Starts a conversation in the workspace of that name; resolves with the output of `pwd` there. */
async function askWhere(name) {
  await open('/');
  await at('open-workspace-button').click();
  await at('workspace-dropdown').click();
  await page.getByRole('option', { name, exact: true }).click();
  await at('workspace-launch-button').click();
  fake.setScenario(MODEL, [command('pwd'), { text: `Here I work: ${name}` }]);
  await at('home-chat-launcher').getByTestId('chat-input').fill('Where?');
  await page.keyboard.press('Enter');
  await shown(`Here I work: ${name}`);
  return lastStep().messages.at(-1).content[0].text.split('\n')[0];
}

test('agent-server 63: a workspace is added, and a conversation started in it', LONG, async () => {
  assert.equal(await addWorkspace(['workspace', 'project']), '/workspace/project');
  assert.equal(await askWhere('project'), '/workspace/project');
});

// Canvas removes a trailing slash from paths, and so sends none if the user chose "/".
test('agent-server 63: a conversation starts in the root workspace', LONG, async () => {
  assert.equal(await addWorkspace([]), '/');
  assert.equal(await askWhere('/'), '/workspace');
});
