// The official TypeScript client, unmodified. It looks for WebSocket in `window`, as in a browser; its
// other way is require('ws'), which a module in node does not have.
import { File } from 'node:buffer';
import WebSocket from 'ws';

globalThis.window ??= { WebSocket };
globalThis.File ??= File;

export const { Agent, ConversationManager, RemoteConversation, RemoteWorkspace } = await import('@openhands/typescript-client');
export const { ConversationClient, ServerClient } = await import('@openhands/typescript-client/clients');
