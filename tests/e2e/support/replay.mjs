// Plays a recorded client against deft: the same requests and frames in the same order, each sent when all that the
// client had seen by then has arrived. Differences of deft's answers are collected in `differences`.
import { call } from './api.mjs';
import { AGENT_URL } from './instance.mjs';
import { Names, differences } from './likeness.mjs';
import { Listener } from './listener.mjs';
import { waitUntil } from './wait.mjs';

const COMPARED_HEADERS = ['content-type', 'content-disposition', 'accept-ranges'];
const ANY_ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}/g;

/** The recorded client asked again and again until the command had ended. */
const isPoll = ({ method, path, response }) => method === 'GET' && path.includes('kind__eq=BashOutput') && response.items.length > 0;

const isEventSearch = ({ method, path }) => method === 'GET' && /\/events\/search/.test(path) && !path.includes('/bash');

export class Replay {
  /**
   * key: the API key that replaces the recorded one.
   * modelUrl: of the model that replaces the recorded one.
   * isTheirs, isOurs: whether an event is one that only the original, or only deft, has.
   * isLeftOut: whether a recorded exchange is not to be played.
   */
  constructor({ exchanges }, { key, modelUrl, isTheirs = () => false, isOurs = () => false, isLeftOut = () => false }) {
    this.exchanges = exchanges.filter((one) => !isLeftOut(one));
    this.position = 0;
    this.key = key;
    this.isTheirs = isTheirs;
    this.isOurs = isOurs;
    this.names = new Names([['http://llm.example.test/v1', modelUrl]]);
    this.listeners = new Map();
    this.differences = [];
  }

  /** Continues to the mark, or to the end. */
  async play(mark = undefined) {
    while (this.position < this.exchanges.length) {
      const one = this.exchanges[this.position];
      if (one.kind === 'mark' && one.what === mark) break;
      this.position += 1;
      await this.#step(one);
    }
    await this.settle();
  }

  /** Skips everything up to the mark. */
  skip(mark) {
    this.position = this.exchanges.findIndex(({ kind, what }) => kind === 'mark' && what === mark);
  }

  /** Waits until everything that the client had seen by now has arrived. */
  async settle() {
    for (const listener of this.listeners.values()) await listener.settle();
  }

  /** Closes all sockets, without waiting for pending frames. */
  async leave() {
    for (const listener of this.listeners.values()) await listener.close();
    this.listeners.clear();
  }

  /** Closes all sockets; fails if an unexpected frame has arrived. */
  async end() {
    for (const listener of this.listeners.values()) this.note(listener.unexpected());
    await this.leave();
  }

  note(lines) {
    this.differences.push(...lines);
  }

  async #step(one) {
    if (one.kind === 'ws') this.listeners.get(one.socket).expect(one.frame);
    else if (one.kind === 'ws-out') this.listeners.get(one.socket).send(one.frame);
    else if (one.kind === 'ws-open') await this.open(one);
    else if (one.kind === 'http') await this.#ask(one);
  }

  async open({ socket, path }) {
    await this.settle();
    const listener = new Listener(this, socket, this.names.translate(path));
    await listener.opened;
    this.listeners.set(socket, listener);
  }

  #send(one) {
    const options = { key: this.key, headers: one.headers, url: AGENT_URL };
    if (one.request !== undefined && one.request !== null) options.json = this.names.translateAll(one.request);
    if (one.request === null) {
      options.body = new FormData();
      options.body.append('file', new Blob(['abc'.slice(0, one.response.file_size)]), 'upload');
    }
    return call(one.method, this.names.translate(one.path), options);
  }

  /** The recorded client was slower than the model of the title. */
  async #awaitTitle({ path }) {
    const conversation = this.names.translate(path.replace('/run', ''));
    await waitUntil(async () => (await call('GET', conversation, { key: this.key })).json.title, 'the title is made');
  }

  async #ask(one) {
    await this.settle();
    if (one.path.endsWith('/run')) await this.#awaitTitle(one);
    const label = `${one.method} ${one.path.replace(ANY_ID, '{id}')}`;
    if (one.method !== 'GET') this.listeners.forEach((listener) => listener.turn());
    let answer = await this.#send(one);
    if (isPoll(one)) {
      answer = await waitUntil(async () => {
        const again = await this.#send(one);
        return again.json.items.at(-1)?.exit_code !== undefined && again;
      }, label);
    }
    if (answer.status !== one.status) this.note([`${label}: expected ${one.status} ${JSON.stringify(one.response).slice(0, 200)}, seen ${answer.status} ${answer.text.slice(0, 300)}`]);
    else if (one.response_headers) this.#compareFile(one, answer, label);
    else if (isEventSearch(one)) this.#compareEvents(one.response, answer.json, label);
    else this.compare(one.response, answer.json ?? answer.text, label);
  }

  #compareFile(one, answer, label) {
    for (const name of COMPARED_HEADERS) {
      this.note(differences(this.names.translate(one.response_headers[name] ?? ''), answer.headers.get(name) ?? '', `${label} ${name}`));
    }
    if (one.response !== '<bytes>' && one.response !== '') this.note(differences(one.response, answer.text, label));
  }

  /** Stats updates may come anywhere between the others: they are compared separately. */
  #compareEvents(recorded, seen, label) {
    const split = (items, isAlien) => {
      const own = items.filter((event) => !isAlien(event));
      return [own.filter(({ key }) => key !== 'stats'), own.filter(({ key }) => key === 'stats')];
    };
    const [events, stats] = split(recorded.items, this.isTheirs);
    const [seenEvents, seenStats] = split(seen.items, this.isOurs);
    this.compare(events, seenEvents, label);
    if (stats.length !== seenStats.length) this.note([`${label}: expected ${stats.length} stats updates, seen ${seenStats.length}`]);
    this.compare({ ...recorded, items: [] }, { ...seen, items: [] }, label);
  }

  compare(recorded, seen, label) {
    this.names.learn(recorded, seen);
    this.note(differences(this.names.translateAll(recorded), seen, label));
  }
}
