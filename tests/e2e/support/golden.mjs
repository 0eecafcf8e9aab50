// Comparison with recordings of the original server. What differs from run to run is replaced by its
// type; where deft answers otherwise on purpose, the place and the reason are listed here.
import { readFileSync } from 'node:fs';

/** {create, info, events, snapshot, model_requests} of a scenario, as they were on the wire. */
export function recording(name) {
  return JSON.parse(readFileSync(new URL(`../../data/golden/recordings/${name}.json`, import.meta.url)));
}

// Members whose value is another one in each run, by their name.
const VARYING = new Set([
  'id', 'timestamp', 'action_id', 'tool_call_id', 'llm_response_id', 'last_user_message_id', 'leaf_event_id',
  'created_at', 'updated_at', 'prompt_cache_key', 'latency', 'response_id', 'base_url',
]);

// Members that one side has and the other need not have.
const LEFT_OUT = new Map([
  ['parent_id', 'clients before 1.31 refuse events with it'],
  ['classification', 'clients before 1.40 refuse events with it'],
  ['full_output_save_dir', 'a folder of the original server; deft keeps whole outputs in the sandbox'],
  ['username', 'names of the machine that was recorded'],
  ['hostname', 'names of the machine that was recorded'],
  ['py_interpreter_path', 'a python of the machine that was recorded'],
  ['persistence_dir', 'a folder of the original server'],
  ['description', 'texts of deft are its own'],
  ['dynamic_context', 'texts of deft are its own'],
  ['system_prompt', 'texts of deft are its own; the client that was recorded sent names of templates'],
]);

// Events that only deft emits.
const DIFFERENCES = [
  {
    reason: 'a call behind the finish of its answer: models refuse a request in which it has no result',
    is: (event) => event.error?.startsWith('This call was not executed'),
  },
];

// Parts of texts that are the image's or the original's own, and what stands for them.
const TEXTS = [
  [/^(v=[^]*\n)(?:root|deft)$/, '$1<user>'],
  [/\n\[Python interpreter: [^\]]*\]/, ''],
  [/(validation errors? for \w+)\n[^]*(Parameters provided)/, '$1 … $2'],
  [/^(?:litellm\.\w+: (?:\w+: )?OpenAIException - |The model's server refused the call: )(.*?)(?: \(error code: \d+\))?$/, 'refused: $1'],
  [/^(Tool call interrupted before completion|This call was interrupted before it was complete)\b.*$/, '<interrupted>'],
];

const textForm = (text) => TEXTS.reduce((words, [pattern, other]) => words.replace(pattern, other), text);

const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value without what varies and what is left out. */
export function form(value, name = '') {
  if (LEFT_OUT.has(name)) return undefined;
  if (name === 'risks') return Object.values(value);
  if (VARYING.has(name)) return value === null ? null : typeof value;
  if (Array.isArray(value)) return value.map((one) => form(one));
  if (typeof value === 'string') return textForm(value);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([key, one]) => [key, form(one, key)]).filter(([, one]) => one !== undefined);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function eventForm(event) {
  const plain = form(event);
  if (event.key === 'last_user_message_id') plain.value = 'string';
  return plain;
}

/** The members of usage of a stats update; the sums depend on what ran before. */
const usageForm = (event) => Object.fromEntries(
  Object.entries(form(event.value).usage_to_metrics).map(([id, metrics]) => [id, {
    ...metrics,
    accumulated_cost: 'number',
    accumulated_token_usage: Object.fromEntries(Object.entries(metrics.accumulated_token_usage).map(([key, value]) => [key, typeof value])),
  }]),
);

/**
 * {events, stats}: the events as forms in order, without stats updates, as those may fall anywhere between; the stats
 * updates for themselves.
 */
export function sequence(events) {
  const kept = [];
  const stats = [];
  for (const event of events) {
    if (DIFFERENCES.some((difference) => difference.is(event))) continue;
    if (event.key === 'stats') stats.push(usageForm(event));
    else kept.push(eventForm(event));
  }
  return { events: kept, stats };
}

/** Names of all members, at every depth, as paths. */
export function paths(value, prefix = '') {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => paths(one, `${prefix}[]`)))].sort();
  if (!isRecord(value)) return [];
  return Object.entries(value)
    .filter(([key]) => !LEFT_OUT.has(key))
    .flatMap(([key, one]) => [`${prefix}.${key}`, ...paths(one, `${prefix}.${key}`)])
    .sort();
}

function requestText(role, text) {
  return role === 'system' ? '<system prompt>' : textForm(text);
}

/** The messages of a request to the model; calls are named by their order. */
export function messages(body) {
  const names = new Map();
  const nameOf = (id) => {
    if (!names.has(id)) names.set(id, `call ${names.size}`);
    return names.get(id);
  };
  return body.messages.map((message) => ({
    ...message,
    ...(message.content ? { content: [message.content].flat().map((part) => ({ ...part, text: requestText(message.role, part.text) })) } : {}),
    ...(message.tool_call_id ? { tool_call_id: nameOf(message.tool_call_id) } : {}),
    ...(message.tool_calls ? { tool_calls: message.tool_calls.map((call) => ({ ...call, id: nameOf(call.id) })) } : {}),
  }));
}

/** A title is asked for without tools; all other requests list them. */
export const isTitleRequest = (body) => body.tools === undefined;

/** What each tool is called and takes. */
export const tools = (body) => body.tools.map(({ function: { name, parameters } }) => ({
  name,
  required: [...(parameters.required ?? [])].sort(),
  properties: Object.keys(parameters.properties).sort(),
}));
