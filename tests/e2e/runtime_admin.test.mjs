// The administrator of the Runtime API: signing in with a password that is never sent, and access.
import assert from 'node:assert/strict';
import { pbkdf2Sync, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { House } from './runtime_house.mjs';

const PASSWORD = 'correct horse, battery';
const KEYS = '/api/admin/api-keys';

describe('the administrator of the Runtime API', () => {
  let house;
  const settings = (more) => Object.assign(house.settings, { DEFT_RUNTIME_ADMIN_PASSWORD: PASSWORD, DEFT_RUNTIME_ADMIN_KEY: '' }, more);
  const again = async (more) => {
    await house.stop();
    settings(more);
    await house.start();
  };
  const challenge = async () => {
    const { status, json, text } = await house.outside('GET', '/api/admin/challenge');
    assert.equal(status, 200, text);
    return json;
  };
  const answer = ({ challenge: text, salt, iterations }, password = PASSWORD) =>
    ({ challenge: text, hash: pbkdf2Sync(password, salt + text, iterations, 32, 'sha256').toString('hex') });
  const login = (body) => house.outside('POST', '/api/admin/login', { body });
  const keys = (token, path = KEYS) => house.outside('GET', path, { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } });
  const forgive = () => house.sql('DELETE FROM admin_logins');

  before(async () => { house = await House.open({ DEFT_RUNTIME_ADMIN_PASSWORD: PASSWORD }); });
  after(async () => { await house?.close(); });

  it('signs in with the hash of challenge and password, and lists keys with the token', async () => {
    const user = randomUUID();
    house.sql(`INSERT INTO users (id, email) VALUES ('${user}', '${user}@example.org');
      INSERT INTO runtime_keys (user_id, name, key_hash, max_runtimes, revoked_at) VALUES ('${user}', 'a', 'h1', 3, NULL), ('${user}', 'b', 'h2', NULL, NULL), ('${user}', 'c', 'h3', 3, now())`);
    const asked = await challenge();
    assert.deepEqual([Object.keys(asked), asked.iterations], [['challenge', 'salt', 'iterations'], 10000]);
    const { status, json } = await login(answer(asked));
    assert.deepEqual([status, Object.keys(json)], [200, ['token']]);
    const listed = await keys(json.token);
    assert.equal(listed.status, 200, listed.text);
    assert.deepEqual(listed.json.map(({ id, ...rest }) => [typeof id, rest]), [
      ['string', { name: 'a', key_value: null, max_runtimes: 3, remaining_credits: null }],
      ['string', { name: 'b', key_value: null, max_runtimes: 10, remaining_credits: null }],
    ]);
    assert.equal((await house.outside('DELETE', '/api/admin/warm-runtime-configs/none', { headers: { Authorization: `Bearer ${json.token}` } })).status, 404);
  });

  it('is refused with a message', async () => {
    for (const token of [undefined, '', 'wrong', `${'9'.repeat(10)}.a.${'0'.repeat(64)}`, (await challenge()).challenge]) {
      const refused = await keys(token);
      assert.deepEqual([refused.status, refused.json], [401, { detail: 'invalid token' }], token);
    }
    const asked = await challenge();
    const wrong = await login(answer(asked, 'another'));
    assert.deepEqual([wrong.status, wrong.json], [401, { detail: 'Invalid admin password' }]);
    const used = await login(answer(asked));
    assert.deepEqual([used.status, used.json], [400, { detail: 'Invalid or expired challenge' }], 'a challenge is tried once');
    const [end, nonce, signature] = (await challenge()).challenge.split('.');
    for (const text of ['', 'x', `${Number(end) + 1000}.${nonce}.${signature}`, `${end}.${nonce}`, 'a'.repeat(5000), 7, null]) {
      const invented = await login(answer({ ...asked, challenge: text }));
      assert.deepEqual([invented.status, invented.json], [400, { detail: 'Invalid or expired challenge' }], String(text));
    }
  });

  it('can use another process\'s challenge; a token ends with its password', async () => {
    forgive();
    const [first, second] = [await challenge(), await challenge()];
    const { json: { token } } = await login(answer(first));
    await again();
    assert.equal((await keys(token)).status, 200);
    assert.equal((await login(answer(first))).status, 400, 'tried before the other process began');
    assert.equal((await login(answer(second))).status, 200);
    await again({ DEFT_RUNTIME_ADMIN_PASSWORD: 'another' });
    assert.equal((await keys(token)).status, 401);
  });

  it('has a limit on failed sign-ins', async () => {
    forgive();
    await again();
    const statuses = [];
    for (let i = 0; i < 12; i++) statuses.push((await login(answer(await challenge(), `guess ${i}`))).status);
    assert.deepEqual(statuses, [...Array(10).fill(401), 429, 429]);
    const right = await login(answer(await challenge()));
    assert.deepEqual([right.status, right.json], [429, { detail: 'Too many failed attempts, try again later' }]);
    house.sql("UPDATE admin_logins SET at = at - interval '61 s'");
    assert.equal((await login(answer(await challenge()))).status, 200, 'a minute later');
    forgive();
    for (let i = 0; i < 12; i++) assert.equal((await login(answer(await challenge()))).status, 200, 'who knows it is not counted');
  });

  it('is disabled without password and key; a key alone gives access to the same routes', async () => {
    const disabled = [403, { detail: 'Admin functionality is disabled' }];
    await again({ DEFT_RUNTIME_ADMIN_PASSWORD: '' });
    for (const [method, url] of [['GET', '/api/admin/challenge'], ['POST', '/api/admin/login'], ['GET', KEYS]]) {
      const refused = await house.outside(method, url, { body: method === 'POST' ? {} : undefined });
      assert.deepEqual([refused.status, refused.json], disabled, url);
    }
    await again({ DEFT_RUNTIME_ADMIN_PASSWORD: '', DEFT_RUNTIME_ADMIN_KEY: 'the key' });
    assert.equal((await keys('the key')).status, 200);
    assert.equal((await keys('another')).status, 401);
    assert.deepEqual((await house.outside('GET', '/api/admin/challenge')).status, 403);
  });
});
