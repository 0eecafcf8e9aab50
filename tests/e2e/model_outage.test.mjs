// A model whose server is out of order: the run waits for it visibly, without a worker, and goes on or ends.
// Minutes are not waited for: the row of the outage is made older.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAction, ofKind } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { ATTEMPTS, DEFAULT_RETRIES, NEXT_S, age, down, outageOf, waits } from './support/outage.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const LIMIT_MS = 600_000;
const done = { text: 'done' };
const think = { calls: [{ name: 'think', arguments: { thought: 'hm', summary: 'think' } }] };

const leaseOf = async (conversation) => (await query("SELECT lease_owner AS owner, claim_count AS claims FROM conversations WHERE id = :'id'", conversation))[0];

/** A run that waits for its model; the model does what the function says that it was given last, by the number of the request since. */
async function beginOutage(t, status) {
  const model = {
    does(step) {
      this.step = step;
      this.n = 0;
    },
  };
  model.does(down(status));
  const conversation = await play(t, () => model.step(++model.n), { llm: DEFAULT_RETRIES });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  await session.frame(({ type }) => type === 'transient', 'the first snapshot');
  await conversation.say('go', true);
  const outage = await waits(conversation, 1);
  return { conversation, session, model, outage };
}

for (const status of [502, 503, 504, 529]) {
  test(`a run whose model answers ${status} waits for it after its retries, and goes on when it is back`, async (t) => {
    const { conversation, model, outage, session } = await beginOutage(t, status);
    assert.equal(requestsOf(conversation).length, ATTEMPTS);
    assert.match(outage.reason, /nobody home/);
    const since = Date.parse(outage.since);
    assert.ok(Math.abs(Date.now() - since) < 120_000 && Math.round((Date.parse(outage.next_attempt_at) - since) / 1000) === NEXT_S, JSON.stringify(outage));
    assert.equal(await conversation.status(), 'running');
    assert.deepEqual(await leaseOf(conversation), { owner: null, claims: 0 }, 'no worker has it');
    const told = await session.frame((frame) => frame.gives_up_in_ms !== undefined, 'the outage is told of');
    assert.deepEqual([told.type, told.attempt, told.attempts, told.gives_up_in_ms], ['item_aborted', 1, 2, LIMIT_MS]);
    assert.match(told.reason, /nobody home/);
    assert.equal(told.retry_in_ms, 1000 * NEXT_S);

    const late = await Socket.open(`/sockets/session/${conversation.id}`);
    t.after(() => late.close());
    const again = await late.frame((frame) => frame.gives_up_in_ms !== undefined, 'a later socket is told, too');
    assert.ok(again.gives_up_in_ms <= LIMIT_MS && again.gives_up_in_ms > LIMIT_MS / 2);

    await age(conversation, '9 minutes');
    const second = await waits(conversation, 2);
    assert.equal(requestsOf(conversation).length, ATTEMPTS + 1, 'one attempt at a time');
    const lasted = Date.parse(second.next_attempt_at) - Date.parse(second.since);
    assert.ok(lasted >= 540_000 && lasted <= LIMIT_MS + 1000, 'the outage is the same, and has an end');
    model.does(() => done);
    await age(conversation);
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    assert.deepEqual(kindsOf(await conversation.events()).slice(3), ['MessageEvent agent', 'S(finished)']);
    assert.equal(requestsOf(conversation).length, ATTEMPTS + 2);
    assert.equal(await outageOf(conversation), undefined);
    await assertSound(conversation);
  });
}

test('an outage of more than ten minutes ends the run with the model\'s error', async (t) => {
  const { conversation } = await beginOutage(t, 502);
  await age(conversation, '10 minutes');
  assert.equal(await conversation.rest(['finished', 'error']), 'error');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['S(error)', 'ConversationErrorEvent']);
  assert.equal(events.at(-1).code, 'BadGatewayError');
  assert.deepEqual(events.at(-1).classification, { kind: 'transient', retryable: true, user_action: 'retry' });
  assert.equal(requestsOf(conversation).length, ATTEMPTS + 1);
});

test('the outage after an answer is a new one, with retries and minutes of its own', async (t) => {
  const { conversation, model } = await beginOutage(t, 503);
  model.does((n) => (n === 1 ? think : down()(n - 1)));
  await age(conversation, '9 minutes');
  await conversation.event(isAction('think'), 'the model answers');
  const outage = await waitUntil(async () => {
    const found = await outageOf(conversation);
    return found !== undefined && Date.now() - Date.parse(found.since) < 120_000 && found;
  }, 'a new outage begins');
  assert.equal(outage.waits, 1);
  const n = requestsOf(conversation).length;
  assert.ok(n >= ATTEMPTS + 1 + ATTEMPTS, `${n} requests`);
});

test('a message during the wait is answered at once', async (t) => {
  const { conversation, model } = await beginOutage(t, 503);
  model.does(() => done);
  await conversation.say('are you there?');
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const asked = requestsOf(conversation).at(-1);
  assert.match(textOf(asked.messages.at(-1)), /are you there\?/);
  assert.equal(requestsOf(conversation).length, ATTEMPTS + 1);
});

for (const [stop, kind] of [['pause', 'PauseEvent'], ['interrupt', 'InterruptEvent']]) {
  test(`${stop} during the wait ends it at once, and the next run asks again`, async (t) => {
    const { conversation, model } = await beginOutage(t, 503);
    await conversation.must(200, 'POST', `/${stop}`);
    assert.equal(await conversation.status(), 'paused');
    assert.equal((await conversation.events()).filter(ofKind(kind)).length, 1);
    assert.equal(await outageOf(conversation), undefined);
    model.does(() => done);
    await conversation.run();
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    assert.equal(requestsOf(conversation).length, ATTEMPTS + 1);
  });
}

test('a waiting run takes no place of another one, and can be deleted', async (t) => {
  const { conversation } = await beginOutage(t, 503);
  const other = await play(t, [done]);
  assert.equal(await other.ask('go'), 'finished');
  assert.equal(await conversation.delete(), 200);
  assert.deepEqual(await query("SELECT 1 FROM model_outages WHERE conversation_id = :'id'", conversation), []);
});
