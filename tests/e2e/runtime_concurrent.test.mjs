// Concurrent starts of one session, and of many.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { assertNoLeaks, House } from './runtime_house.mjs';

describe('concurrent starts', () => {
  let house;

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('concurrent starts of one session get the same sandbox', async () => {
    const id = house.session();
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    assert.deepEqual(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    assert.equal((await house.ours('containers')).filter((c) => c.Labels['deft.session_id'] === id).length, 1);
    assert.equal(house.sql(`SELECT count(*) FROM runtimes WHERE session_id = '${id}'`), '1');
    await house.forget(answers[0].json);
    await assertNoLeaks(house);
  });

  it('concurrent starts of a session that is being stopped get the same new sandbox', async () => {
    const id = house.session();
    const { json: old } = await house.sandbox(id);
    house.sql(`UPDATE runtimes SET desired = 'deleted' WHERE id = '${old.runtime_id}'`);
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    for (const { status, json } of answers) assert.deepEqual([status, json.status], [200, 'running'], json.detail ?? json.status_detail);
    assert.equal(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    assert.notEqual(answers[0].json.runtime_id, old.runtime_id);
    await house.forget(answers[0].json);
    await assertNoLeaks(house);
  });

  it('starts many sessions at once', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => house.sandbox(house.session())));
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    assert.equal(new Set(answers.map(({ json }) => json.url)).size, 6);
    await house.forget(...answers.map(({ json }) => json));
    await assertNoLeaks(house);
  });
});
