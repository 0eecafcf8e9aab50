// A conversation of the test user, used through the API.
import { call, must } from './api.mjs';
import { WORKING_DIR } from './instance.mjs';
import { Socket, restingSnapshot } from './socket.mjs';
import { waitUntil } from './wait.mjs';

const PAGE = 100;
const RESTING = ['finished', 'error', 'paused', 'stuck', 'idle'];

export const text = (words) => ({ role: 'user', content: [{ type: 'text', text: words }] });

/** The LLM of a fake model: its scenario is the model's name. */
export const llmOf = (fake, scenario, more = {}) => ({
  model: `openai/${scenario}`,
  api_key: 'sk-test',
  base_url: fake.url,
  usage_id: 'agent',
  num_retries: 1,
  retry_min_wait: 0,
  retry_max_wait: 1,
  ...more,
});

/** A start request, in the short form that every client may send. */
export const startRequest = (llm, { tools = ['terminal', 'file_editor', 'task_tracker'], atOnce = 1, ...more } = {}) => ({
  agent: { kind: 'Agent', llm, tools: tools.map((name) => ({ name })), tool_concurrency_limit: atOnce },
  workspace: { kind: 'LocalWorkspace', working_dir: WORKING_DIR },
  autotitle: false,
  ...more,
});

export class Conversation {
  constructor(id, key) {
    this.id = id;
    this.options = key === undefined ? {} : { key };
    this.path = `/api/conversations/${id}`;
  }

  static async create(request, { key } = {}) {
    const info = await must(201, 'POST', '/api/conversations', { json: request, ...(key === undefined ? {} : { key }) });
    return new Conversation(info.id, key);
  }

  /** A new conversation with a scenario of the fake model. */
  static start(fake, scenario, { llm = {}, ...more } = {}) {
    return Conversation.create(startRequest(llmOf(fake, scenario, llm), more));
  }

  call(method, path = '', options = {}) {
    return call(method, this.path + path, { ...this.options, ...options });
  }

  must(status, method, path = '', options = {}) {
    return must(status, method, this.path + path, { ...this.options, ...options });
  }

  info() {
    return this.must(200, 'GET');
  }

  async status() {
    return (await this.info()).execution_status;
  }

  say(words, run = false) {
    return this.must(200, 'POST', '/events', { json: { ...text(words), run } });
  }

  run() {
    return this.must(200, 'POST', '/run');
  }

  /** All stored events, in order. */
  async events() {
    const items = [];
    let page;
    do {
      const found = await this.must(200, 'GET', '/events/search', { query: { limit: PAGE, ...(page ? { page_id: page } : {}) } });
      items.push(...found.items);
      page = found.next_page_id;
    } while (page);
    return items;
  }

  socket(options = {}) {
    return Socket.open(`/sockets/events/${this.id}`, { ...this.options, ...options });
  }

  /** Sends a message, runs it, and waits for the end on a socket of its own. */
  async ask(words) {
    const socket = await this.socket();
    try {
      await socket.frame((event) => event.key === 'full_state', 'the first snapshot');
      const from = socket.frames.length;
      await this.say(words, true);
      const end = await socket.frame(restingSnapshot(), 'the run ends', { from });
      return end.value.execution_status;
    } finally {
      await socket.close();
    }
  }

  /** Resolves with the status once it is an idle one (or one of the given). */
  rest(statuses = RESTING, deadlineMs = undefined) {
    const look = async (saw) => {
      const status = saw(await this.status());
      return statuses.includes(status) && status;
    };
    return waitUntil(look, `${this.id} is ${statuses.join(' or ')}`, deadlineMs);
  }

  /** Resolves with the first stored event that matches. */
  event(matches, what, deadlineMs = undefined) {
    return waitUntil(async (saw) => {
      const events = await this.events();
      saw(events.map(({ kind, tool_name: tool, key }) => [kind, tool ?? key].filter(Boolean).join(' ')));
      return events.find(matches);
    }, what, deadlineMs);
  }

  async delete() {
    return (await this.call('DELETE')).status;
  }
}

/** The text of an event's observation. */
export const observed = (event) => event.observation.content.map((part) => part.text ?? '').join('');

export const isAction = (tool) => (event) => event.kind === 'ActionEvent' && event.tool_name === tool;
export const isResult = (tool) => (event) => event.kind === 'ObservationEvent' && event.tool_name === tool;
export const ofKind = (kind) => (event) => event.kind === kind;
