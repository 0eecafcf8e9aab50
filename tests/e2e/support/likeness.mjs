// Compares an answer of deft with a recorded one: ids are deft's own but consistent, values that differ from
// run to run is compared by its form, and all else must be equal, member by member.

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const ID = new RegExp(`${UUID}|\\b[0-9a-f]{32}\\b|\\bcall_[0-9]{8}\\b|\\bchatcmpl-[0-9]{12}\\b|http://llm\\.example\\.test/v1`, 'g');
const WHOLE_ID = new RegExp(`^(?:${ID.source})$`);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;

// Numbers that depend on the machine, the day or the sequence of calls.
const MEASURED = new Set([
  'accumulated_cost', 'prompt_tokens', 'completion_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens', 'context_window',
  'per_turn_token', 'cost', 'latency', 'timestamp', 'uptime', 'idle_time',
]);

// Members that one side may lack.
const LEFT_OUT = new Map([
  ['parent_id', 'clients before 1.31 refuse events with it'],
  ['full_output_save_dir', 'a folder of the original server; deft keeps whole outputs in the sandbox'],
  ['username', 'names of the machine that was recorded'],
  ['hostname', 'names of the machine that was recorded'],
  ['py_interpreter_path', 'a python of the machine that was recorded'],
  ['persistence_dir', 'a folder of the original server'],
  ['dynamic_context', 'texts of deft are its own'],
  ['system_prompt', 'texts of deft are its own; the client that was recorded sent names of templates'],
]);

// Parts of texts that are specific to the image or the original, and their placeholders.
const TEXTS = [
  [/^(v=[^]*\n)(?:root|deft)$/, '$1<user>'],
  [/\n\[Python interpreter: [^\]]*\]/, ''],
  [/(validation errors? for \w+)\n[^]*(Parameters provided)/, '$1 … $2'],
  [/^(?:litellm\.\w+: (?:\w+: )?OpenAIException - |The model's server refused the call: )(.*?)(?: \(error code: \d+\))?$/, 'refused: $1'],
  [/^(Tool call interrupted before completion|This call was interrupted before it was complete)\b.*$/, '<interrupted>'],
];

const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text without parts that are specific to the recorded machine or the original. */
export const textForm = (text) => TEXTS.reduce((words, [pattern, other]) => words.replace(pattern, other), text);

/** Maps recorded ids to deft's. */
export class Names {
  constructor(known = []) {
    this.known = new Map(known);
  }

  /** The text with deft's ids. */
  translate(text) {
    return text.replace(ID, (id) => this.known.get(id) ?? id);
  }

  /** The value with deft's ids. */
  translateAll(value) {
    return JSON.parse(this.translate(JSON.stringify(value)));
  }

  /** Records that an id corresponds to a recorded one. */
  note(recorded, seen) {
    if (this.known.has(recorded) || !WHOLE_ID.test(recorded) || !WHOLE_ID.test(seen)) return;
    this.known.set(recorded, seen);
    const hex = recorded.replaceAll('-', '');
    if (recorded.length === 36 && !this.known.has(hex)) this.known.set(hex, seen.replaceAll('-', ''));
  }

  /** Learns the ids of an answer from the recorded one. */
  learn(recorded, seen) {
    if (typeof recorded === 'string' && typeof seen === 'string') this.note(recorded, seen);
    else if (Array.isArray(recorded) && Array.isArray(seen)) recorded.forEach((one, i) => this.learn(one, seen[i]));
    else if (isRecord(recorded) && isRecord(seen)) this.learnMembers(recorded, seen);
  }

  learnMembers(recorded, seen) {
    for (const [key, value] of Object.entries(recorded)) {
      if (UNORDERED.has(key) || key === 'response_id') continue;
      this.learn(value, seen[key]);
      if (key === 'risks' && isRecord(seen[key])) this.learn(Object.keys(value), Object.keys(seen[key]));
    }
  }
}

// Members that the recording hides: prompts, descriptions and keys.
const PLACEHOLDER = /^<[a-z][a-z ]*>$/;

// Lists without an order.
const UNORDERED = new Set(['forgotten_event_ids']);

/** A value in its form for comparison. */
function form(value, name) {
  if (typeof value === 'number' && MEASURED.has(name)) return '<number>';
  if (name === 'response_id') return '<id>'; // of a title's request or of the first step's, whichever was answered first
  if (typeof value !== 'string') return value;
  if (TIME.test(value)) return `<time${value.replace(/^[^.Z+]*/, '').replace(/\d/g, 'd')}>`;
  return textForm(value);
}

function isSame(expected, seen, name) {
  if (PLACEHOLDER.test(expected) && typeof seen === 'string') return true;
  return form(expected, name) === form(seen, name);
}

/** The members of a list in an order that both sides have. */
const inOrder = (list, name) => (UNORDERED.has(name) ? [...list].sort() : list);

const show = (value) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 300));

/**
 * Where a value differs from the expected one, as lines "path: expected …, seen …"; the expected one has deft's ids already.
 * path: how the value is called; name: of the member that holds it.
 */
export function differences(expected, seen, path, name = '') {
  if (LEFT_OUT.has(name)) return [];
  if (Array.isArray(expected) && Array.isArray(seen)) {
    const [ours, theirs] = [inOrder(expected, name), inOrder(seen, name)];
    const n = Math.max(ours.length, theirs.length);
    return Array.from({ length: n }, (_, i) => differences(ours[i], theirs[i], `${path}[${i}]`, name)).flat();
  }
  if (isRecord(expected) && isRecord(seen)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(seen)]);
    if (expected.kind === 'ObservationEvent') keys.delete('extended_content'); // always empty; older clients refuse results with it
    return [...keys].flatMap((key) => differences(expected[key], seen[key], `${path}.${key}`, key));
  }
  return isSame(expected, seen, name) ? [] : [`${path}: expected ${show(expected)}, seen ${show(seen)}`];
}
