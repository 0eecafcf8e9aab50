// Signing in at an MCP server: discovery, registration, redirects, the tokens that a client
// keeps, and failures.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { randomUUID } from 'node:crypto';
import { start } from '../fakes/mcp_oauth.mjs';
import { call, must } from './support/api.mjs';
import { part } from './support/client.mjs';
import { execute } from './support/database.mjs';
import { APP_URL } from './support/instance.mjs';
import { begin, comeBack, oauth2, signIn, statusOf } from './support/mcp_sign_in.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil, within } from './support/wait.mjs';

describe('signing in at an MCP server', () => {
  let fake;
  before(async () => { fake = await start(); });
  after(() => fake.close());

  test('the browser signs in and returns, and the tools are listed', async () => {
    const begun = await begin(fake.url, { scopes: ['tools'], client_name: 'A test' });
    assert.equal(new URL(begun.authorization_url).searchParams.get('scope'), 'tools');
    const waiting = await statusOf(begun.job_id);
    assert.deepEqual([waiting.ok, waiting.status, waiting.callback_ready, waiting.authorization_url], [true, 'pending', true, begun.authorization_url]);
    const way = fake.approve(begun.authorization_url);
    assert.equal(way.origin, APP_URL);
    const back = await comeBack(way);
    assert.deepEqual([back.status, back.text.includes('signed in')], [200, true]);
    const done = await statusOf(begun.job_id);
    assert.deepEqual([done.ok, done.status, done.tools, done.error], [true, 'succeeded', ['private'], null]);
    assert.deepEqual(fake.objections, []);
    const registered = JSON.parse(fake.seen.find(({ what }) => what === 'POST /tenant/register').text);
    assert.equal(registered.client_name, 'A test');
    assert.equal((await comeBack(way)).status, 400, 'a state is good for once');
  });

  test('tokens are returned sealed, and the database contains none in plain text', async () => {
    const { status, begun } = await signIn(fake);
    const given = [...fake.tokens, ...fake.refreshTokens.keys()];
    assert.ok(given.every((token) => !JSON.stringify(status).includes(token)));
    assert.match(status.oauth_state.tokens.access_token, /^gAAAA/);
    assert.match(status.oauth_state.tokens.refresh_token, /^gAAAA/);
    const name = `signed-${randomUUID().slice(0, 8)}`;
    const settings = await must(201, 'POST', `/api/settings/mcp/${name}`, { json: { url: fake.url, transport: 'http', auth: { ...oauth2({ client_name: 'c' }), state: status.oauth_state } } });
    assert.deepEqual(settings.agent_settings.mcp_config[name].auth.authentication, { type: 'oauth', client_name: 'c' });
    assert.equal(settings.agent_settings.mcp_config[name].auth.state.tokens.access_token, '**********');
    const plain = await must(200, 'GET', '/api/settings', { headers: { 'x-expose-secrets': 'plaintext' } });
    assert.ok(fake.tokens.has(plain.agent_settings.mcp_config[name].auth.state.tokens.access_token));
    const dump = await execute('SELECT body, sealed FROM documents UNION ALL SELECT body, sealed FROM mcp_sign_ins');
    assert.ok(given.every((token) => !dump.includes(token)));
    assert.ok(!dump.includes(new URL(begun.authorization_url).searchParams.get('state')));
    await must(200, 'DELETE', `/api/settings/mcp/${name}`);
  });

  test('a server is tested with the tokens, which are renewed when they have expired', async () => {
    fake.lifetime = 1;
    const { status } = await signIn(fake);
    fake.lifetime = 3600;
    const name = `renewed-${randomUUID().slice(0, 8)}`;
    const auth = { strategy: 'oauth2', state: status.oauth_state };
    await must(201, 'POST', `/api/settings/mcp/${name}`, { json: { url: fake.url, transport: 'http', auth } });
    fake.tokens.clear();
    const tried = await must(200, 'POST', '/api/mcp/test', { json: { server: { type: 'http', url: fake.url, auth } } });
    assert.deepEqual([tried.ok, tried.tools], [true, ['private']], JSON.stringify(tried));
    assert.match(tried.oauth_state.tokens.refresh_token, /^gAAAA/);
    const stored = (await must(200, 'GET', '/api/settings', { headers: { 'x-expose-secrets': 'plaintext' } })).agent_settings.mcp_config[name].auth.state.tokens;
    assert.ok(fake.tokens.has(stored.access_token) && fake.refreshTokens.has(stored.refresh_token), 'the settings follow');
    assert.deepEqual(fake.objections, []);
    await must(200, 'DELETE', `/api/settings/mcp/${name}`);
    const again = await must(200, 'POST', '/api/mcp/test', { json: { server: { type: 'http', url: fake.url, auth } } });
    assert.equal(again.ok, true, 'a client with the old tokens gets the new ones');
    assert.equal(fake.seen.filter(({ text }) => text.includes('grant_type=refresh_token')).length, 1);
    fake.tokens.clear();
    fake.refreshTokens.clear();
    fake.lifetime = 1;
    const over = await signIn(fake);
    fake.refreshTokens.clear();
    fake.lifetime = 3600;
    const refused = await must(200, 'POST', '/api/mcp/test', { json: { server: { type: 'http', url: fake.url, auth: { strategy: 'oauth2', state: over.status.oauth_state } } } });
    assert.match(refused.error, /^Sign in to this server again: .*invalid_grant/);
  });

  test('a client whose browser cannot return submits the address', async () => {
    const begun = await begin(fake.url);
    const other = await begin(fake.url);
    const way = fake.approve(begun.authorization_url);
    const hand = (job, url) => call('POST', `/api/mcp/oauth/callback/${job}`, { json: { callback_url: url } });
    assert.equal((await hand(other.job_id, way.href)).status, 422);
    assert.equal((await hand(begun.job_id, 'nonsense')).status, 422);
    assert.equal((await hand(randomUUID(), way.href)).status, 404);
    const done = await hand(begun.job_id, way.href);
    assert.deepEqual([done.status, done.json.status], [200, 'succeeded'], done.text);
    assert.equal((await statusOf(other.job_id)).status, 'pending');
  });

  test('the official client starts a sign-in, polls it and submits the address', async () => {
    const client = part('MCPClient');
    const begun = await client.startOAuth({ name: 'c', server: { type: 'http', url: fake.url, auth: oauth2() }, timeout: 20 });
    assert.equal((await client.getOAuthStatus(begun.job_id)).status, 'pending');
    const done = await client.submitOAuthCallback(begun.job_id, { callback_url: fake.approve(begun.authorization_url).href });
    assert.deepEqual([done.status, done.tools], ['succeeded', ['private']]);
    client.close();
  });

  test('a preregistered client is used as given', async () => {
    for (const method of ['client_secret_post', 'client_secret_basic']) {
      const client = { client_id: `known ${method}`, client_secret: 'a secret:with/signs', redirect_uris: [`${APP_URL}/api/mcp/oauth/redirect`], token_endpoint_auth_method: method };
      fake.clients.set(client.client_id, client);
      const { status } = await signIn(fake, { client_id: client.client_id, client_secret: client.client_secret, client_auth_method: method });
      assert.equal(status.status, 'succeeded', JSON.stringify(status));
      assert.match(status.oauth_state.client_info.client_secret, /^gAAAA/);
    }
    assert.deepEqual(fake.objections, []);
  });

  test('another user does not see the sign-in', async () => {
    const begun = await begin(fake.url);
    assert.equal((await call('GET', `/api/mcp/oauth/status/${begun.job_id}`, { key: null })).status, 401);
    for (const job of [randomUUID(), 'none', '%20']) assert.equal((await call('GET', `/api/mcp/oauth/status/${job}`)).status, 404);
  });

  test('an unknown state, or a return without a code, is refused', async () => {
    const begun = await begin(fake.url);
    const way = fake.approve(begun.authorization_url);
    for (const query of ['', '?code=x', `?state=${randomUUID()}&code=x`]) {
      assert.equal((await comeBack(new URL(way.pathname + query, way))).status, 400, query);
    }
    assert.equal((await statusOf(begun.job_id)).status, 'pending');
    const refused = fake.approve(begun.authorization_url, { code: undefined, error: 'access_denied' });
    assert.equal((await comeBack(refused)).status, 400);
    const status = await statusOf(begun.job_id);
    assert.deepEqual([status.ok, status.status, status.error, status.oauth_state], [false, 'failed', 'The sign-in server says: access_denied', null]);
  });

  test('an answer of another authorization server is refused', async () => {
    for (const iss of ['http://127.0.0.1:1/other', undefined]) {
      const begun = await begin(fake.url);
      await comeBack(fake.approve(begun.authorization_url, { iss }));
      assert.match((await statusOf(begun.job_id)).error, /another sign-in server/);
    }
  });
});

describe('failed sign-ins are reported', () => {
  const faults = [
    ['metadata of another resource', { resourceMetadata: (json) => ({ ...json, resource: 'http://127.0.0.1:1/else' }) }, /another resource/],
    ['metadata of another issuer', { authorizationMetadata: (json) => ({ ...json, issuer: 'http://127.0.0.1:1/' }) }, /as its issuer/],
    ['no PKCE', { authorizationMetadata: (json) => ({ ...json, code_challenge_methods_supported: ['plain'] }) }, /PKCE/],
    ['an authorization endpoint with a javascript: URL', { authorizationMetadata: (json) => ({ ...json, authorization_endpoint: 'javascript:alert(1)' }) }, /authorization_endpoint/],
    ['a token endpoint at the metadata address of clouds', { authorizationMetadata: (json) => ({ ...json, registration_endpoint: 'http://169.254.169.254/register' }) }, /address/],
    ['no registration', { authorizationMetadata: ({ registration_endpoint: _, ...json }) => json }, /client_id/],
    ['a refused registration', { registration: () => ({ error: 'invalid_client_metadata', error_description: 'not you' }) }, /not you/],
    ['metadata other than an object', { authorizationMetadata: () => [] }, /does not name a sign-in server/],
  ];
  for (const [what, options, words] of faults) {
    test(what, async (t) => {
      const fake = await start(options);
      t.after(() => fake.close());
      const { ok, error, error_kind: kind, job_id: job } = await begin(fake.url);
      assert.deepEqual([ok, job], [false, undefined]);
      assert.match(error, words);
      assert.ok(['timeout', 'connection', 'unknown'].includes(kind));
    });
  }

  test('invalid tokens are refused', async (t) => {
    for (const token of [{}, { access_token: 'x', token_type: 'mac' }, { access_token: 7 }, []]) {
      const fake = await start({ token: () => token });
      t.after(() => fake.close());
      const { back, status } = await signIn(fake);
      assert.deepEqual([back.status, status.ok, status.status], [400, false, 'failed'], JSON.stringify(token));
    }
  });

  test('a missing server, a program and an invalid request are refused', async () => {
    assert.equal((await begin('http://127.0.0.1:1/mcp')).error_kind, 'connection');
    assert.equal((await begin('ftp://127.0.0.1/mcp')).ok, false);
    const program = await must(200, 'POST', '/api/mcp/oauth/start', { json: { server: { type: 'stdio', command: 'x' } } });
    assert.equal(program.ok, false);
    for (const json of [{}, { server: {} }, { server: { type: 'http' } }]) assert.equal((await call('POST', '/api/mcp/oauth/start', { json })).status, 422);
    const { ok, error } = await must(200, 'POST', '/api/mcp/test', { json: { server: { type: 'http', url: 'http://127.0.0.1:1/', auth: oauth2() } } });
    assert.deepEqual([ok, /signed in/.test(error)], [false, true]);
  });

  test('a process killed during the return reports that sign-in as interrupted, and other sign-ins continue', async (t) => {
    let asked;
    const isAsked = new Promise((resolve) => { asked = resolve; });
    const fake = await start({ token: () => (asked(), null) });
    t.after(() => fake.close());
    const [begun, other] = [await begin(fake.url), await begin(fake.url)];
    const returning = comeBack(fake.approve(begun.authorization_url)).catch(() => undefined);
    await within(isAsked, 'the service asks for a token');
    await killAndAwait('fcgi');
    await returning;
    const status = await waitUntil(async () => {
      const answer = await call('GET', `/api/mcp/oauth/status/${begun.job_id}`);
      return answer.status === 200 && answer;
    }, 'the new process answers');
    assert.equal(status.json.status, 'authorizing');
    await execute("UPDATE mcp_sign_ins SET changed_at = changed_at - interval '2 minutes' WHERE id = :'id'", { id: begun.job_id });
    const late = await statusOf(begun.job_id);
    assert.deepEqual([late.ok, late.status, late.callback_ready], [false, 'failed', false]);
    assert.match(late.error, /interrupted/);
    assert.equal((await statusOf(other.job_id)).status, 'pending');
  });
});
