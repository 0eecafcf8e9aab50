// The official TypeScript client, unmodified. It looks for WebSocket in `window`, as in a browser; its
// other way is require('ws'), which a module in node does not have.
import assert from 'node:assert/strict';
import { File } from 'node:buffer';
import WebSocket from 'ws';
import { llmOf, startRequest } from './conversation.mjs';
import { AGENT_URL, API_KEY, WORKING_DIR } from './instance.mjs';
import { waitUntil } from './wait.mjs';

globalThis.window ??= { WebSocket };
globalThis.File ??= File;

export const { Agent, ConversationManager, RemoteConversation, RemoteWorkspace } = await import('@openhands/typescript-client');
export const clients = await import('@openhands/typescript-client/clients');
export const { ConversationClient, ServerClient } = clients;

const HERE = { host: AGENT_URL, apiKey: API_KEY };

/** One of the client's parts, by its name, for the test user or the one of a key. */
export const part = (name, apiKey = API_KEY) => new clients[name]({ ...HERE, apiKey });

export const newWorkspace = () => new RemoteWorkspace({ ...HERE, workingDir: WORKING_DIR });

/**
 * The client's conversation with a scenario of the fake model, with the events of its callback. It ends with the test.
 * more: initialMessage, and agent for members of its agent.
 */
export async function openConversation(t, fake, scenario, { initialMessage, agent = {} } = {}) {
  const heard = [];
  const errors = [];
  const conversation = new RemoteConversation({ ...startRequest(llmOf(fake, scenario)).agent, ...agent }, newWorkspace(), {
    callback: (event) => heard.push(event), onError: (error) => errors.push(error),
  });
  await conversation.start({ initialMessage });
  t.after(async () => {
    await conversation.close();
    await part('ConversationClient').deleteConversation(conversation.id).catch((error) => assert.equal(error.status, 404));
  });
  await conversation.startWebSocketClient();
  const hears = (matches, what, from = 0) => waitUntil(() => {
    assert.deepEqual(errors, []);
    return heard.slice(from).find(matches);
  }, what);
  await hears((event) => event.key === 'full_state', 'the first snapshot');
  return { conversation, heard, hears };
}
