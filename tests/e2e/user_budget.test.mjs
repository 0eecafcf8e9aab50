// Budgets of a user: of all model calls, and of those of a day.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from './support/api.mjs';
import { Conversation, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { execute } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { newUser } from './support/users.mjs';

/** Each call costs 2 cents and little more. */
const PRICED = { input_cost_per_token: 2e-5, output_cost_per_token: 0 };

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer' }]);
fake.setScenario('work', [{ calls: [terminal('echo one')] }, { text: 'done' }]);

async function userWith(columns) {
  const user = await newUser();
  await execute(`UPDATE users SET ${columns} WHERE id = :'id'`, { id: user.id });
  return user;
}

async function begin(t, { key }, scenario, llm = PRICED) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario, llm)), { key });
  t.after(() => conversation.delete());
  return conversation;
}

const budget = async ({ key }) => (await call('GET', '/api/budget', { key })).json;
const extend = ({ key }, amount) => call('POST', '/api/budget/extend', { key, json: { amount } });
const failureOf = async (conversation) => (await conversation.events()).findLast(ofKind('ConversationErrorEvent'));

test('the budget of a day ends runs before their next call, and is raised for today', async (t) => {
  const user = await userWith('daily_budget_cents = 1');
  const first = await begin(t, user, 'work');
  const from = fake.requests.length;
  assert.equal(await first.ask('go'), 'error');
  const { code, detail, classification } = await failureOf(first);
  assert.deepEqual([code, classification.kind], ['MaxBudgetReached', 'quota']);
  assert.match(detail, /budget of \$0\.0100 per day: they cost \$0\.02\d\d\..*POST \/api\/budget\/extend/);
  assert.ok((await first.events()).some(ofKind('ObservationEvent')), 'the calls of the last answer are executed');
  const second = await begin(t, user, 'talk');
  assert.equal(await second.ask('hello'), 'error', 'it is of all conversations');
  assert.equal(fake.requests.length - from, 1);
  const { per_day: day } = await budget(user);
  assert.deepEqual([day.limit, day.extended_by], [0.01, 0]);
  assert.ok(day.spent >= 0.02 && day.spent < 0.03, `${day.spent}`);
  assert.deepEqual((await extend(user, 0.05)).json.per_day, { limit: 0.06, spent: day.spent, extended_by: 0.05 });
  await first.run();
  assert.equal(await first.rest(['finished', 'error']), 'finished');
  await first.delete();
  assert.ok((await budget(user)).per_day.spent >= 0.04, 'what a deleted conversation has cost is spent');
});

test('the budget of a user is not raised by that of a day', async (t) => {
  const user = await userWith('budget_cents = 1');
  const conversation = await begin(t, user, 'talk');
  assert.equal(await conversation.ask('hello'), 'finished', 'one call may exceed it');
  assert.equal((await extend(user, 10)).status, 200);
  assert.equal(await conversation.ask('again'), 'error');
  assert.match((await failureOf(conversation)).detail, /budget of \$0\.0100 per user: .*administrator/);
  await execute(`UPDATE users SET budget_cents = 100 WHERE id = :'id'`, { id: user.id });
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
});

test('a model without a price is not called, and other users are not concerned', async (t) => {
  const user = await userWith('daily_budget_cents = 100');
  const conversation = await begin(t, user, 'talk', {});
  assert.equal(await conversation.ask('hello'), 'error');
  assert.match((await failureOf(conversation)).detail, /price of the model .* is unknown, so the budget of \$1\.0000 per day/);
  const other = await newUser();
  assert.equal(await (await begin(t, other, 'talk', {})).ask('hello'), 'finished');
  assert.deepEqual(await budget(other), { per_user: { limit: null, spent: null }, per_day: { limit: null, spent: null, extended_by: 0 } });
});

test('amounts that make no sense are refused', async () => {
  const user = await newUser();
  for (const amount of [0, -1, 'much', null, 1e300]) assert.equal((await extend(user, amount)).status, 422, `${amount}`);
  assert.equal((await extend(user, 1e6)).status, 200);
  const beyond = await extend(user, 0.01);
  assert.deepEqual([beyond.status, (await budget(user)).per_day.extended_by], [422, 1e6]);
});
