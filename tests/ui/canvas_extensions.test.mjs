// OpenHands' own page, used as by a person: its pages of extensions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { must } from '../e2e/support/api.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startMcp } from '../fakes/mcp.mjs';
import { at, key, LONG, open, page, settings } from './canvas_person.mjs';

/** The requests of each extension page. */
const CUSTOMIZE = { mcp: '/api/settings', skills: '/api/skills', plugins: '/api/plugins/installed' };

test('agent-server 63: every page of extensions opens', LONG, async () => {
  for (const [name, asks] of Object.entries(CUSTOMIZE)) {
    const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === asks);
    await open(`/${name}`);
    await answered;
    await at('extensions-navbar-desktop').waitFor();
  }
});

test('agent-server 63: an MCP server is tested, added, tested again and removed', LONG, async () => {
  const mcp = await startMcp();
  try {
    await open('/mcp');
    await at('mcp-add-custom-server').click();
    await at('server-name-input').fill('mine');
    await at('url-input').fill(`${mcp.url}/mcp`);
    await at('mcp-test-connection').click();
    await page.getByText('2 tool(s) available').waitFor();
    await at('submit-button').last().click();
    await at('mcp-health-label-mine').getByText('Reachable').waitFor();
    assert.equal((await settings()).agent_settings.mcp_config.mine.url, `${mcp.url}/mcp`);
    await at('mcp-server-item').first().getByText('mine').first().click();
    await at('mcp-custom-editor-delete').click();
    await page.getByRole('dialog').getByRole('button', { name: /confirm|delete|remove|uninstall/i }).last().click();
    await at('mcp-server-item').first().waitFor({ state: 'detached' });
    await waitUntil(async () => Object.keys((await settings()).agent_settings.mcp_config).length === 0, 'it is forgotten');
  } finally {
    await mcp.close();
  }
});

test('agent-server 63: a skill is enabled and disabled', LONG, async () => {
  // A click before the page has read the settings is lost when it reads them, which it may do twice. So each click is on a
  // label that the page has only afterwards (`code-review` is enabled, and `uv` is not, unless the settings say otherwise),
  // and comes when nothing is read any more.
  const enable = (names) => must(200, 'PATCH', '/api/settings', { key, json: { misc_settings_diff: { app_preferences: { enabled_skills: names } } } });
  const becomes = (names) => waitUntil(async (see) => isDeepStrictEqual(see((await settings()).misc_settings.app_preferences.enabled_skills), names), `enabled: ${names}`);
  const click = async (name, label) => {
    const toggle = page.getByTestId(`skill-toggle-${name}`).and(page.getByLabel(label));
    await toggle.waitFor();
    await page.waitForLoadState('networkidle');
    await toggle.click();
  };
  await enable(['uv']);
  await open('/skills');
  await click('uv', 'Disable skill');
  await becomes([]);
  await open('/skills');
  await click('code-review', 'Enable skill');
  await becomes(['code-review']);
});
