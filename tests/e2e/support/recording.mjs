// Recordings of the original server and its client: tests/data/golden/recordings/<scenario>.jsonl, a line for each
// thing that happened, in the order in which the client did it:
//   http     {method, path, headers?, request?, status, response, response_headers?}
//   ws-open  {socket, path}; ws-out {socket, frame}; ws {socket, frame}
//   mark     {what}: a note of who recorded
//   model    {path, body}: a request that reached the model
// {"shown": id} refers to an event that occurs earlier in the file.
import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../data/golden/recordings/', import.meta.url);

/** Replaces references by the events. */
function withEvents(lines) {
  const shown = new Map();
  const whole = (event) => {
    if (event?.shown !== undefined) return shown.get(event.shown);
    if (event?.id !== undefined && !shown.has(event.id)) shown.set(event.id, event);
    return event;
  };
  const frameOf = (frame) => (frame.event === undefined ? whole(frame) : { ...frame, event: whole(frame.event) });
  return lines.map((line) => {
    if (line.kind === 'ws') return { ...line, frame: frameOf(line.frame) };
    if (line.kind !== 'http' || !Array.isArray(line.response?.items)) return line;
    return { ...line, response: { ...line.response, items: line.response.items.map(whole) } };
  });
}

/** {exchanges, requests}: between client and server, and to the model. */
export function recording(name) {
  const text = readFileSync(new URL(`${name}.jsonl`, FOLDER), 'utf8').trim();
  const lines = withEvents(text.split('\n').map((line) => JSON.parse(line)));
  return {
    exchanges: lines.filter(({ kind }) => kind !== 'model'),
    requests: lines.filter(({ kind }) => kind === 'model').map(({ body }) => body),
  };
}

/** The first request to start a conversation. */
export const startOf = ({ exchanges }) => exchanges.find(({ kind, method, path }) => kind === 'http' && method === 'POST' && path === '/api/conversations').request;

/** The recorded model's answers in conversations, as steps of the fake one. */
export function answersOf({ exchanges }) {
  const steps = new Map();
  const shown = exchanges.flatMap((one) => (one.kind === 'ws' ? [one.frame.event ?? one.frame] : one.response?.items ?? []));
  const seen = new Set();
  for (const event of shown) {
    if (!event.llm_response_id || event.kind === 'Condensation' || seen.has(event.id)) continue;
    seen.add(event.id);
    const step = steps.get(event.llm_response_id) ?? {};
    steps.set(event.llm_response_id, step);
    const [part] = event.thought ?? event.llm_message.content;
    if (part) step.text = part.text;
    if (event.tool_call) step.calls = [...(step.calls ?? []), { name: event.tool_call.name, arguments: event.tool_call.arguments }];
  }
  return [...steps.values()];
}
