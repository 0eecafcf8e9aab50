// OpenHands' own page, used as by a person: the pages of settings.
import { test } from 'node:test';
import { at, LONG, open } from './canvas_person.mjs';

const SETTINGS = {
  agents: 'agent-profile-row', llm: 'profile-row', condenser: 'condenser-settings-screen', 'agent-context': 'agent-context-settings-screen',
  verification: 'verification-settings-screen', app: 'app-settings-screen', secrets: 'secrets-settings-screen',
};

test('agent-server 63: every page of settings opens', LONG, async () => {
  for (const [name, id] of Object.entries(SETTINGS)) {
    await open(`/settings/${name}`);
    await at(id).first().waitFor();
  }
});
