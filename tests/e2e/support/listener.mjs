// A socket of a recorded client: waits for the recorded frames, one after the other, and compares them.
// Stats updates may come anywhere, snapshots may be repeated and pieces of an answer may be split elsewhere: their
// order is not compared.
import { AGENT_URL } from './instance.mjs';
import { Socket, isSnapshot } from './socket.mjs';

const eventOf = (frame) => frame.event ?? frame;
const isPiece = (frame) => frame.type === 'delta' || frame.kind === 'StreamingDeltaEvent';
const isStats = (frame) => eventOf(frame).key === 'stats';
const isAnySnapshot = (frame) => isSnapshot(eventOf(frame));
const isOrdered = (frame) => !isPiece(frame) && !isStats(frame) && !isAnySnapshot(frame);

const nameOf = (frame) => [frame.type, eventOf(frame).kind, eventOf(frame).key, eventOf(frame).tool_name].filter(Boolean).join(' ');

export class Listener {
  constructor(replay, name, path) {
    this.replay = replay;
    this.name = name;
    this.socket = new Socket(path, { key: null, url: AGENT_URL });
    this.opened = this.socket.opened;
    this.expected = [];
    this.n_ordered = 0;
    this.from = 0;
  }

  send(frame) {
    const isAuth = frame.type === 'auth';
    this.socket.send(isAuth ? { ...frame, session_api_key: this.replay.key } : frame);
  }

  expect(frame) {
    if (!this.replay.isTheirs(eventOf(frame))) this.expected.push(frame);
  }

  #ordered(frames) {
    return frames.filter((frame) => isOrdered(frame) && !this.replay.isOurs(eventOf(frame)));
  }

  /** Waits for each expected frame. */
  async settle() {
    while (this.expected.length > 0) {
      const frame = this.expected.shift();
      if (isAnySnapshot(frame)) await this.#awaitSnapshot(frame);
      else if (isOrdered(frame)) await this.#awaitNext(frame);
    }
  }

  async #awaitNext(frame) {
    const label = `${this.name} ${nameOf(frame)}`;
    const seen = await this.socket.until((frames) => this.#ordered(frames)[this.n_ordered], label);
    this.n_ordered += 1;
    this.from = Math.max(this.from, this.socket.frames.indexOf(seen) + 1);
    this.replay.compare(frame, seen, label);
  }

  /** The client sends a request: earlier snapshots do not count. */
  turn() {
    this.from = this.socket.frames.length;
  }

  /** An equal snapshot after the last awaited frame. */
  async #awaitSnapshot(frame) {
    const { execution_status: status } = eventOf(frame).value;
    const label = `${this.name} ${frame.type ?? ''} snapshot of ${status}`;
    const isLike = (one) => isAnySnapshot(one) && eventOf(one).value.execution_status === status;
    const seen = await this.socket.until((frames) => frames.slice(this.from).find(isLike), label);
    this.replay.compare(frame, seen, label);
  }

  /** Unexpected frames. */
  unexpected() {
    const more = this.#ordered(this.socket.frames).slice(this.n_ordered);
    return more.map((frame) => `${this.name}: not expected: ${JSON.stringify(frame).slice(0, 300)}`);
  }

  async close() {
    if (this.socket.ws.readyState === this.socket.ws.OPEN) await this.socket.close();
  }

  /** The pieces of the answers, joined per answer if the frames name it. */
  pieces() {
    const joined = new Map();
    for (const frame of this.socket.frames.filter(isPiece)) joined.set(frame.item_id, (joined.get(frame.item_id) ?? '') + (frame.content ?? ''));
    return [...joined.values()];
  }
}
