// Recorded answers of the original server that come piece by piece, replayed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { must } from './support/api.mjs';
import { assertAlike } from './support/recorded_differences.mjs';
import { answersOf, recording } from './support/recording.mjs';
import { fake, letModelSay, playRecording, replayOf } from './support/recordings.mjs';
import { waitUntil } from './support/wait.mjs';

test('recording streaming', (t) => playRecording(t, 'streaming'));

/** The frames of a session in the contract's order: stored events, the snapshot, live events. */
function inContractOrder(exchanges, socket) {
  const rank = ({ type }) => ['sync', 'durable', 'transient'].indexOf(type) + 1 || 4;
  const isFrame = (one) => one.kind === 'ws' && one.socket === socket;
  const frames = exchanges.filter(isFrame).sort((a, b) => rank(a.frame) - rank(b.frame));
  return exchanges.map((one) => (isFrame(one) ? frames.shift() : one));
}

/** Waits for a condition during the replay; fails with the replay. */
async function meanwhile(playing, check, what) {
  let failure;
  playing.catch((error) => {
    failure = error;
  });
  await waitUntil(() => {
    if (failure) throw failure;
    return check();
  }, what);
}

test('recording session-socket', async (t) => {
  const golden = recording('session-socket');
  // Pieces that arrive after their event are not sent: each answer ends when its pieces were sent. The second waits
  // until the third socket is open, so that it gets it from the first piece on. Its end was not recorded.
  const [command, last] = answersOf(golden);
  const steps = [command, { text: 'just text' }, last].map((step) => ({ ...step, hold: true }));
  letModelSay(golden, { steps, parked: 2 });
  const replay = await replayOf(t, { ...golden, exchanges: inContractOrder(golden.exchanges, 'session 4') });
  const count = async (n) => {
    const counted = replay.names.translate(golden.exchanges.find(({ path }) => path?.endsWith('/events/count')).path);
    await waitUntil(async () => await must(200, 'GET', counted, { key: replay.key }) === n, `${n} events are stored`);
  };
  /** Continues to the mark; the model's answer ends when these sockets have got it. */
  const playAnswer = async (mark, text, sockets, playing = replay.play(mark)) => {
    const isShown = (name) => isDeepStrictEqual(replay.listeners.get(name)?.pieces(), [text]);
    await meanwhile(playing, () => sockets.every(isShown), `${text} is shown`);
    fake.release();
    await playing;
  };

  await playAnswer('reconnect after the last three events', 'sleeping', ['session 1', 'events 2']);
  await replay.leave();
  await replay.play('everything from the start');
  const again = replay.listeners.get('session 3').socket;
  await again.until((frames) => frames.length >= 5, 'the last three events and a snapshot');
  assert.deepEqual(again.frames.slice(0, 5).map(({ type, seq }) => [type, seq]), [
    ['sync', undefined], ['durable', 3], ['durable', 4], ['durable', 5], ['transient', undefined],
  ]);
  await replay.leave();
  await count(7);
  const playing = replay.play('a bad frame, then a message');
  const isThere = () => replay.listeners.get('session 4')?.socket.frames.some(({ type }) => type === 'transient');
  await meanwhile(playing, () => isThere() && fake.nParked() === 1, 'the third socket is there, and the model is asked');
  fake.release();
  await playAnswer(undefined, 'just text', ['session 4'], playing);
  await count(10);
  await replay.leave();
  await playAnswer(undefined, last.text, ['session 5']);
  await replay.end();
  assertAlike('session-socket', replay);
});
