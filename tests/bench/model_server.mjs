// A model's server for figures: it answers at once, in OpenAI's chat format, with what the figure wants.
import http from 'node:http';
import { once } from 'node:events';

/** The message of an answer that calls a tool. */
export const callOf = (id, name, args) => ({ role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] });
export const DONE = { role: 'assistant', content: 'done' };

const answerOf = (model, n, message) => ({
  id: `chatcmpl-${n}`, object: 'chat.completion', created: 1, model,
  choices: [{ index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
});

/**
 * `messageFor(text, at)` gives the message for a request, from its body and the moment it came
 * (performance.now()); `answered()` is called when it was sent.
 */
export async function startModelServer(model, messageFor, answered = () => {}) {
  let n = 0;
  const server = http.createServer((request, response) => {
    const at = performance.now();
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const message = messageFor(Buffer.concat(chunks).toString(), at);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answerOf(model, ++n, message)));
      answered();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close() {
      server.closeAllConnections?.();
      server.close();
    },
  };
}
