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
/** A skill that a search for those of the test does not find. */
const UNLIKE_THE_OTHERS = 'agent-memory';

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

/**
 * Searches for a skill and switches it. On the way from the settings to the switches the page (1.20.0) has three gaps:
 * - A click is lost if it comes after the render that shows the switches and before the effects of that render, which
 *   replace the state by the settings. The search prevents that: React runs the effects of one render before the next
 *   one, so they have run when the found skills are shown.
 * - If the settings are read before the page is mounted, and are not the page's defaults, the page at once saves first
 *   the defaults and then the settings, in two requests at the same time, and their order decides. So this begins with
 *   the defaults, and with a document that has saved nothing.
 * - A document that reads settings without enabled skills saves the defaults at any time. So the defaults are in the
 *   settings.
 */
async function switchSkill(name, label, defaults) {
  await must(200, 'PATCH', '/api/settings', { key, json: { misc_settings_diff: { app_preferences: { enabled_skills: defaults } } } });
  await open('/skills');
  await at('skills-search-input').fill(name);
  await at(`skill-toggle-${UNLIKE_THE_OTHERS}`).waitFor({ state: 'detached' });
  await at(`skill-toggle-${name}`).and(page.getByLabel(label)).click();
}

/** The enabled skills that are saved, once there are some and the condition is true of them. */
const enabledSkills = (isSo, what) => waitUntil(async (saw) => {
  const names = saw((await settings()).misc_settings.app_preferences?.enabled_skills);
  return names && isSo(names) && names;
}, what);
const areEnabled = (names) => enabledSkills((seen) => isDeepStrictEqual(seen, names), `enabled: ${names}`);

test('agent-server 63: a skill is enabled and disabled', LONG, async () => {
  await open('/skills');
  const defaults = await enabledSkills(() => true, 'the page has saved its defaults');
  await switchSkill('uv', 'Enable skill', defaults);
  await areEnabled([...defaults, 'uv']);
  await switchSkill('code-review', 'Disable skill', defaults);
  await areEnabled(defaults.filter((name) => name !== 'code-review'));
});
