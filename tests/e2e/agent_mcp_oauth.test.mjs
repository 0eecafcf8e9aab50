// MCP servers that a user has signed in at, in runs: access tokens are renewed, once for all who hold them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start } from '../fakes/mcp_oauth.mjs';
import { isResult, observed, ofKind } from './support/conversation.mjs';
import { assertSound, execute } from './support/database.mjs';
import { play, requestsOf } from './support/loop.mjs';
import { signIn } from './support/mcp_sign_in.mjs';

const done = { text: 'done' };
const useIt = { calls: [{ name: 'private', arguments: {} }] };
const RESULT = /^\[Tool 'private' executed\.\]with <secret-hidden>$/;

async function server(t, options) {
  const fake = await start(options);
  t.after(() => fake.close());
  return fake;
}

/** The agent of a user who has signed in; the access token lives so many seconds. */
async function signedIn(fake, lifetime) {
  fake.lifetime = lifetime;
  const { status } = await signIn(fake);
  fake.lifetime = 3600;
  return { secrets_encrypted: true, agent: { mcp_config: { one: { url: fake.url, auth: { strategy: 'oauth2', state: status.oauth_state } } } } };
}

const renewalsOf = (fake) => fake.seen.filter(({ text }) => text.includes('grant_type=refresh_token'));
const resultsOf = async (conversation) => (await conversation.events()).filter(isResult('private')).map((event) => observed(event));

test('an expired token is renewed once for all conversations that hold it, and for their later runs', async (t) => {
  const fake = await server(t);
  const agent = await signedIn(fake, 1);
  fake.tokens.clear();
  const conversations = await Promise.all([1, 2, 3].map(() => play(t, [useIt, done], agent)));
  assert.deepEqual(await Promise.all(conversations.map((conversation) => conversation.ask('go'))), Array(3).fill('finished'));
  for (const conversation of conversations) {
    const results = await resultsOf(conversation);
    assert.equal(results.length, 1);
    assert.match(results[0], RESULT);
    await assertSound(conversation);
  }
  assert.equal(await conversations[0].ask('again'), 'finished');
  assert.equal((await resultsOf(conversations[0])).length, 2);
  assert.equal(renewalsOf(fake).length, 1);
  assert.deepEqual(fake.objections, []);

  const tokens = [...fake.tokens, ...fake.refreshTokens.keys()];
  assert.equal(tokens.length, 2);
  const dump = await execute('SELECT root_hash, sealed FROM mcp_grants UNION ALL SELECT token_hash, root_hash FROM mcp_grant_tokens');
  const said = JSON.stringify([await conversations[0].events(), requestsOf(conversations[0])]);
  for (const token of tokens) assert.ok(!dump.includes(token) && !said.includes(token));
});

test('a token that the server does not accept any more is renewed, and the call made again', async (t) => {
  const fake = await server(t, { mcp: (words) => { fake.tokens.clear(); return words; } });
  const conversation = await play(t, [useIt, useIt, done], await signedIn(fake, 3600));
  assert.equal(await conversation.ask('go'), 'finished');
  const results = await resultsOf(conversation);
  assert.equal(results.length, 2);
  for (const result of results) assert.match(result, RESULT);
  assert.equal(renewalsOf(fake).length, 1);
  assert.deepEqual(fake.objections, []);
});

test('a refused renewal is an error that says to sign in again, and the run goes on', async (t) => {
  const fake = await server(t, { mcp: (words) => { fake.tokens.clear(); fake.refreshTokens.clear(); return words; } });
  const conversation = await play(t, [useIt, useIt, done], await signedIn(fake, 3600));
  assert.equal(await conversation.ask('go'), 'finished');
  const [error, ...others] = (await conversation.events()).filter(ofKind('AgentErrorEvent')).map((event) => event.error);
  assert.equal(error, 'The MCP server \'one\' failed: Sign in to this server again: The sign-in server refused to issue tokens (HTTP 400): invalid_grant');
  assert.deepEqual(others, []);
});
