// A worker and nginx die under light load, and a worker is stopped: clients recover, and
// acknowledged data is kept. The other processes are killed in processes.test.mjs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call } from '../e2e/support/api.mjs';
import { Conversation, isAction, isResult, text } from '../e2e/support/conversation.mjs';
import { assertSound, query } from '../e2e/support/database.mjs';
import { Worker, killAndAwait, start, stop } from '../e2e/support/processes.mjs';
import { Socket, restingSnapshot } from '../e2e/support/socket.mjs';
import { waitUntil, within } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';

const N_WRITERS = 4;

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

/** Clients that send messages one after the other, and record the acknowledged ones. */
class Load {
  static async begin() {
    const load = new Load();
    load.conversations = await Promise.all(Array.from({ length: N_WRITERS }, () => Conversation.start(fake, 'text')));
    load.ledger = [];
    load.failures = [];
    load.writers = load.conversations.map((conversation, i) => load.#write(conversation, i));
    return load;
  }

  async #write(conversation, writer) {
    for (let i = 0; !this.isOver; i++) {
      const words = `writer ${writer} message ${i}`;
      try {
        const { status } = await conversation.call('POST', '/events', { json: text(words), timeoutMs: 20_000 });
        if (status === 200) this.ledger.push({ id: conversation.id, words });
        else this.failures.push(status);
      } catch (error) {
        this.failures.push(error.message);
      }
    }
  }

  /** Resolves once n more messages were acknowledged: the system works. */
  async progress(n, what) {
    const from = this.ledger.length;
    await waitUntil(() => this.ledger.length >= from + n, `${n} more messages are acknowledged ${what}`);
  }

  /** Ends the load; every acknowledged message must be stored exactly once. */
  async end() {
    this.isOver = true;
    await Promise.all(this.writers);
    const ids = `{${this.conversations.map(({ id }) => id).join(',')}}`;
    const rows = await query(`SELECT conversation_id AS id, body::jsonb #>> '{llm_message,content,0,text}' AS words FROM events
      WHERE kind = 'MessageEvent' AND conversation_id = ANY (:'ids'::uuid[])`, { ids });
    const stored = new Map();
    for (const { id, words } of rows) stored.set(`${id} ${words}`, (stored.get(`${id} ${words}`) ?? 0) + 1);
    for (const { id, words } of this.ledger) assert.equal(stored.get(`${id} ${words}`), 1, `${words} is stored once`);
    await assertSound(...this.conversations);
    await Promise.all(this.conversations.map((conversation) => conversation.delete()));
  }
}

/** A client that keeps the session socket open, and reconnects with its cursor. */
class Watcher {
  constructor(conversation) {
    this.path = `/sockets/session/${conversation.id}`;
    this.seen = [];
    this.n_connections = 0;
    this.watching = this.#watch();
  }

  async #watch() {
    while (!this.isOver) {
      try {
        this.socket = await Socket.open(this.path, { query: { after_seq: this.seen.length - 1 } });
        this.n_connections += 1;
        const taken = this.#take(this.socket);
        await this.socket.closed;
        await taken;
      } catch {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  async #take(socket) {
    const from = this.seen.length;
    await socket.until((frames) => {
      const durable = frames.filter(({ type }) => type === 'durable');
      for (const { seq, event } of durable.slice(this.seen.length - from)) {
        assert.equal(seq, this.seen.length, 'no gap, nothing twice');
        this.seen.push(event.id);
      }
      return false;
    }, 'the socket is closed', 2 ** 31 - 1).catch((error) => {
      if (error.code === 'ERR_ASSERTION') this.fault = error;
    });
  }

  async end(events) {
    await waitUntil(() => this.seen.length >= events.length, 'the watcher has seen all');
    this.isOver = true;
    await this.socket.cut();
    await within(this.watching, 'the watcher sees that it is over');
    assert.equal(this.fault, undefined);
    assert.deepEqual(this.seen, events.map(({ id }) => id));
  }
}

for (const name of ['worker', 'nginx']) {
  test(`kill -9 of ${name}: clients recover, nothing acknowledged is lost`, async (t) => {
    const busy = await Conversation.start(fake, 'crash', { conversation_runtime: 'docker' });
    t.after(() => busy.delete());
    await busy.must(200, 'POST', '/runtime/reprovision');
    const load = await Load.begin();
    const watcher = new Watcher(load.conversations[0]);
    await load.progress(10, 'before');
    await busy.say('go', true);
    await busy.event(isAction('terminal'), 'the command');
    await killAndAwait(name);
    await load.progress(10, 'behind it');
    const isFinished = () => busy.status().then((status) => status === 'finished', () => false);
    await waitUntil(isFinished, 'the run ends');
    const events = await busy.events();
    assert.equal(events.filter(isResult('terminal')).length, 1);
    assert.equal((await busy.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'cat f' } })).stdout, 'done\n');
    await assertSound(busy);
    assert.deepEqual(load.failures.filter((failure) => failure === 500), [], 'no client is told of an internal error');
    load.isOver = true;
    await Promise.all(load.writers);
    await watcher.end(await load.conversations[0].events());
    t.diagnostic(`${load.ledger.length} messages acknowledged, ${load.failures.length} refused (${[...new Set(load.failures)]}), ${watcher.n_connections} connections`);
    await load.end();
  });
}

test('a client on the events socket gets the end of a run after the gateway was killed', async (t) => {
  const conversation = await Conversation.start(fake, 'slow', { conversation_runtime: 'docker' });
  t.after(() => conversation.delete());
  const socket = await conversation.socket();
  await conversation.say('go', true);
  await socket.frame(isAction('terminal'), 'the command');
  await killAndAwait('gateway');
  await socket.end();
  const again = await waitUntil(() => conversation.socket({ query: { resend_mode: 'all' } }).catch(() => null), 'the socket opens again');
  await again.frame(restingSnapshot(['finished']), 'the end of the run');
  const ids = (await conversation.events()).map(({ id }) => id);
  // If the run had ended before, its end is in the first snapshot, before the replayed events.
  const seen = await again.until((frames) => {
    const events = frames.filter(({ key }) => key !== 'full_state');
    return events.length >= ids.length && events;
  }, 'all events');
  assert.deepEqual(seen.map(({ id }) => id), ids);
  await again.close();
});

test('a worker that is stopped hands its conversations over', async (t) => {
  const conversation = await Conversation.start(fake, 'park');
  t.after(() => conversation.delete());
  stop('worker');
  t.after(() => start('worker'));
  const worker = await Worker.start();
  t.after(() => worker.stop('SIGKILL'));
  await conversation.say('go', true);
  await waitUntil(() => fake.n_parked === 1, 'the model is asked');
  const asked = fake.requests.length;
  await start('worker');
  const begun = Date.now();
  const { code } = await worker.stop('SIGTERM');
  assert.equal(code, 0);
  // The model may not have detected yet that the first one disconnected.
  await waitUntil(() => fake.requests.length > asked && fake.n_parked === 1, 'the other worker asks');
  t.diagnostic(`another worker asked the model after ${Date.now() - begun} ms`);
  fake.release();
  assert.equal(await conversation.rest(), 'finished');
  await assertSound(conversation);
});
