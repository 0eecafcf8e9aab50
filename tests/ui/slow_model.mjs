// A model with an OpenAI-compatible API that always calls for one long command.
import { createServer } from 'node:http';

const CALL = {
  id: 'call_slow',
  type: 'function',
  function: { name: 'terminal', arguments: JSON.stringify({ command: 'echo begun; sleep 120' }) },
};
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

function head(kind, model) {
  return { id: 'chatcmpl-slow', object: kind, created: 1, model };
}

function whole(model) {
  const message = { role: 'assistant', content: 'This will take a while.', tool_calls: [CALL] };
  return { ...head('chat.completion', model), choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: USAGE };
}

function* pieces(model) {
  const common = head('chat.completion.chunk', model);
  const delta = { role: 'assistant', content: 'This will take a while.', tool_calls: [{ index: 0, ...CALL }] };
  yield { ...common, choices: [{ index: 0, delta, finish_reason: null }] };
  yield { ...common, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  yield { ...common, choices: [], usage: USAGE };
}

async function answer(request, reply) {
  let text = '';
  for await (const chunk of request) text += chunk;
  const { model = 'slow', stream = false } = JSON.parse(text || '{}');
  if (!stream) {
    reply.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(whole(model)));
    return;
  }
  reply.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const piece of pieces(model)) reply.write(`data: ${JSON.stringify(piece)}\n\n`);
  reply.end('data: [DONE]\n\n');
}

/** Resolves with {url, close}; listens on loopback, on any free port. */
export async function startSlowModel() {
  const server = createServer((request, reply) => {
    answer(request, reply).catch(() => reply.destroy());
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}
