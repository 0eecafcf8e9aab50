// A light load that records every acknowledged message, and a reader that
// follows events by number, across broken sockets.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Socket } from '../e2e/support/socket.mjs';
import { waitUntil, within } from '../e2e/support/wait.mjs';

const BETWEEN_MS = 20;
const OUTAGE_STATUSES = [502, 503, 504];

/** Sends one message after the other and records the acknowledged ones. */
export class Ledger {
  constructor(conversation) {
    this.conversation = conversation;
    this.acknowledged = [];
    this.failures = [];
    this.isOver = false;
    this.done = this.#write();
  }

  async #write() {
    for (let n = 0; !this.isOver; n++) {
      await this.#say(`message ${n}`);
      await pause(BETWEEN_MS);
    }
  }

  async #say(words) {
    const json = { role: 'user', content: [{ type: 'text', text: words }], run: false };
    try {
      const { status, text } = await this.conversation.call('POST', '/events', { json });
      if (status === 200) this.acknowledged.push(words);
      else this.failures.push({ status, text });
    } catch (error) {
      this.failures.push({ error: error.cause?.code ?? error.name });
    }
  }

  /** Resolves once this many more messages were acknowledged. */
  more(count) {
    const enough = this.acknowledged.length + count;
    return waitUntil(() => this.acknowledged.length >= enough, `${count} more messages are acknowledged`);
  }

  async stop() {
    this.isOver = true;
    await within(this.done, 'the last message is answered');
  }

  /** Fails unless clients saw only a short outage: no answer, or a 5xx that says so. */
  assertOnlyOutages() {
    assert.deepEqual(this.failures.filter(({ status }) => status !== undefined && !OUTAGE_STATUSES.includes(status)), []);
  }

  /** Fails unless each acknowledged message is stored once, in the order of sending. */
  async assertKept() {
    const stored = (await this.conversation.events()).filter(({ kind }) => kind === 'MessageEvent')
      .map((event) => event.llm_message.content[0].text);
    const acknowledged = new Set(this.acknowledged);
    assert.deepEqual(stored.filter((words) => acknowledged.has(words)), this.acknowledged);
  }
}

/** Follows a conversation by the session socket, and reconnects after the last number that it has seen. */
export class Reader {
  constructor(conversation) {
    this.conversation = conversation;
    this.seen = [];
    this.connections = 0;
    this.isOver = false;
    this.done = this.#read();
  }

  async #read() {
    while (!this.isOver) {
      try {
        this.socket = await Socket.open(`/sockets/session/${this.conversation.id}`, { query: { after_seq: this.seen.length - 1 } });
      } catch {
        await pause(BETWEEN_MS);
        continue;
      }
      this.connections += 1;
      if (this.isOver) this.socket.cut();
      await this.socket.closed;
      for (const { seq, event } of this.#durable()) this.seen.push({ seq, id: event.id });
      this.socket = undefined;
    }
  }

  #durable() {
    return this.socket?.frames.filter(({ type }) => type === 'durable') ?? [];
  }

  /** Resolves once it has all stored events; fails if a number or an event is missing, repeated or out of order. */
  async assertSawAll() {
    const stored = (await this.conversation.events()).map(({ id }, seq) => ({ seq, id }));
    await waitUntil(() => this.seen.length + this.#durable().length >= stored.length, 'the reader has all events');
    await this.stop();
    assert.deepEqual(this.seen, stored);
  }

  async stop() {
    this.isOver = true;
    this.socket?.cut();
    await within(this.done, 'the reader ends');
  }
}
