// The official Python SDK in a process of its own, which plays the scenarios of tests/e2e/sdk.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Conversation } from './conversation.mjs';
import { AGENT_URL, API_KEY } from './instance.mjs';
import { strictModel } from './model.mjs';
import { within } from './wait.mjs';

const PROGRAM = fileURLToPath(new URL('../sdk/python.sh', import.meta.url));
/** The first start on a machine creates a virtual environment and installs the SDK. */
const START_DEADLINE_MS = 600_000;
const SCENARIO_DEADLINE_MS = 180_000;

export class Sdk {
  /** Resolves once the SDK is loaded. */
  static async start(fake) {
    const sdk = new Sdk(fake);
    await sdk.play('about.versions', {}, { deadlineMs: START_DEADLINE_MS });
    return sdk;
  }

  constructor(fake) {
    this.log = '';
    this.child = spawn(PROGRAM, ['main.py'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        ...process.env,
        SDK_HOST: AGENT_URL,
        SDK_KEY: API_KEY,
        SDK_MODEL_URL: fake.url,
        OPENHANDS_SUPPRESS_BANNER: '1',
        PYTHONDONTWRITEBYTECODE: '',
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    });
    this.child.stderr.on('data', (chunk) => {
      this.log += chunk;
    });
    this.child.stdin.on('error', () => {});
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
  }

  #send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async #hear() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`the SDK's process has ended:\n${this.log}`);
    return JSON.parse(value);
  }

  async #listen(answers) {
    for (;;) {
      const message = await this.#hear();
      if (message.ask === undefined) return message;
      this.#send({ done: (await answers[message.ask](message.value)) ?? null });
    }
  }

  /**
   * Plays a scenario; resolves with {result, warnings}, fails as it does. answers: an action for each word that the
   * scenario sends.
   */
  async watch(name, args = {}, { answers = {}, deadlineMs = SCENARIO_DEADLINE_MS } = {}) {
    const from = this.log.length;
    this.#send({ play: name, arguments: args });
    const outcome = await within(this.#listen(answers), `${name} is played`, deadlineMs);
    if (outcome.failure) throw new Error(`${outcome.failure}\n${this.log.slice(from)}`);
    return outcome;
  }

  /** As watch(), but resolves with the result, and the SDK must not complain about more than `expected` says. */
  async play(name, args = {}, { expected = [], ...options } = {}) {
    const { result, warnings } = await this.watch(name, args, options);
    const odd = warnings.filter((warning) => !expected.some((pattern) => pattern.test(warning)));
    if (odd.length > 0) throw new Error(`the SDK complains:\n${odd.join('\n')}`);
    return result;
  }

  stop() {
    this.child.stdin.end();
    return within(this.ended, 'the SDK ends');
  }
}

/** {sdk, fake}: the SDK and its model for all tests of a file. */
export async function sdkWithModel() {
  let sdk;
  after(() => sdk?.stop());
  const fake = await strictModel();
  sdk = await Sdk.start(fake);
  return { sdk, fake };
}

/** Ids of a conversation's stored events, in order. */
export const storedIds = async (id) => (await new Conversation(id).events()).map((event) => event.id);
