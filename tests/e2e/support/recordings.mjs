// Replays of the recorded conversations of the original server, request by request and frame by frame: deft answers
// the same, sends the same events in the same order, and calls the model with the same requests.
import assert from 'node:assert/strict';
import { differences } from './likeness.mjs';
import { strictModel } from './model.mjs';
import { assertAlike } from './recorded_differences.mjs';
import { answersOf, recording, startOf } from './recording.mjs';
import { Replay } from './replay.mjs';
import { newUser } from './users.mjs';

export const fake = await strictModel();

// --- answers and requests of the model ---

const TITLE = { text: 'A short title' };
const SUMMARY = { text: '<summary>Summary of what happened.</summary>' };
const ANSWER = { text: 'The answer.' };

const nAnswers = ({ messages }) => messages.filter(({ role }) => role === 'assistant').length;

/**
 * The recorded model is played by the fake one; a title and a summary are asked for without tools. The errors play
 * themselves. parked: the number of the request whose answer waits until it is released.
 */
export function letModelSay(golden, { steps = answersOf(golden), parked = 0 } = {}) {
  const others = [TITLE, SUMMARY];
  let n = 0;
  if (steps.length === 0) return;
  fake.setScenario(startOf(golden).agent.llm.model.replace('openai/', ''), (body) => {
    if (body.tools === undefined) return others.shift();
    n += 1;
    return { ...(steps[nAnswers(body)] ?? ANSWER), park: n === parked };
  });
}

/** The bodies of a request to a model, in a form that both sides have. */
const asked = (body) => ({
  ...body,
  messages: body.messages.map((message) => ({ ...message, ...(message.content ? { content: [message.content].flat() } : {}) })),
});

/** The model's requests are the same, with tools and without. Of the longest recording only the last ones exist. */
export function compareRequests(golden, replay, from, { isEnd = false } = {}) {
  const seen = fake.requests.slice(from).map(({ body }) => body).filter(({ model }) => model === golden.requests[0]?.model);
  for (const isStep of [true, false]) {
    const expected = golden.requests.filter(({ tools }) => (tools !== undefined) === isStep);
    const ours = seen.filter(({ tools }) => (tools !== undefined) === isStep);
    const first = isEnd ? ours.length - expected.length : 0;
    for (const [i, body] of expected.entries()) {
      assert.ok(ours[first + i], `request ${i} reached the model`);
      const recorded = asked(body);
      const own = asked(ours[first + i]);
      replay.names.learn(recorded, own);
      replay.note(differences(replay.names.translateAll(recorded), own, `model request ${i}`));
    }
  }
}

/** A replay for a new user. At its end all sockets are closed and the model is released. */
export async function replayOf(t, golden, more = {}) {
  const user = await newUser();
  const replay = new Replay(golden, { key: user.key, modelUrl: fake.url, ...more });
  t.after(async () => {
    fake.release();
    await replay.leave();
  });
  return replay;
}

// --- whole recordings ---

/** A call after the finish of its answer: models refuse a request in which it has no result. */
const isUnexecuted = (event) => event.error?.startsWith('This call was not executed');

/** Refused there and done here: the rest of the recording would use another model. */
const isOtherModel = ({ path, status }) => status === 501 && path.endsWith('/switch_llm');

/** The final state that the recorded client read. */
export const lastEvents = (golden) => golden.exchanges.filter(({ path }) => path?.includes('/events/search')).at(-1).response.items;

/** Errors from before the run: of a failed title, which deft reports only in the run. */
function titleErrors(golden) {
  const items = lastEvents(golden);
  const begun = items.findIndex(({ key, value }) => key === 'execution_status' && value === 'running');
  return new Set(items.slice(0, Math.max(begun, 0)).filter(({ kind }) => kind === 'ConversationErrorEvent').map(({ id }) => id));
}

/**
 * Plays a recording from its start to its end, for a new user. Before a release the recorded client closed its sockets.
 * golden: the recording, with changes; during(replay): what is done meanwhile; isEnd: as compareRequests().
 */
export async function playRecording(t, name, { golden = recording(name), during = async () => {}, ...options } = {}) {
  letModelSay(golden);
  const from = fake.requests.length;
  const theirs = titleErrors(golden);
  const replay = await replayOf(t, golden, { isTheirs: ({ id }) => theirs.has(id), isOurs: isUnexecuted, isLeftOut: isOtherModel });
  const play = async () => {
    await replay.play('release');
    await replay.end();
    await replay.play();
    await replay.end();
  };
  await Promise.all([play(), during(replay)]);
  compareRequests(golden, replay, from, options);
  assertAlike(name, replay);
}
