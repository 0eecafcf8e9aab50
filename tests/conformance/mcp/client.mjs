// The client that the protocol's conformance suite starts for a scenario: `node client.mjs URL`. It is a user of the
// running instance, who signs in at the server if the scenario is about that, and runs a conversation whose agent has
// the server. Ends with 1 if the sign-in, or the call of the tool, fails.
import assert from 'node:assert/strict';
import { isAction, isResult, ofKind } from '../../e2e/support/conversation.mjs';
import { play } from '../../e2e/support/loop.mjs';
import { begin, comeBack, oauth2, statusOf } from '../../e2e/support/mcp_sign_in.mjs';

const URL_OF_SERVER = process.argv.at(-1);
const SCENARIO = process.env.MCP_CONFORMANCE_SCENARIO;
const CONTEXT = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** The call that the model makes; none: the server has no tools. */
const CALLS = {
  initialize: [],
  tools_call: [{ name: 'add_numbers', arguments: { a: 5, b: 3 } }],
  'elicitation-sep1034-client-defaults': [{ name: 'test_client_elicitation_defaults', arguments: {} }],
  'sse-retry': [{ name: 'test_reconnection', arguments: {} }],
};
const calls = CALLS[SCENARIO] ?? [{ name: 'test-tool', arguments: {} }];

/** What the user has entered for the sign-in. */
const AUTHENTICATIONS = {
  'auth/basic-cimd': { client_metadata_url: 'https://conformance-test.local/client-metadata.json' },
  'auth/pre-registration': { client_id: CONTEXT.client_id, client_secret: CONTEXT.client_secret },
};

/** The scopes that an error tells the user to sign in with. */
const scopesOf = (words) => /sign in to it again with the scopes "([^"]+)"/.exec(words)?.[1];

class Refused extends Error {}

/** The user's browser at the sign-in page, which approves at once, and back at deft. */
async function visit(page) {
  const answer = await fetch(page, { redirect: 'manual' });
  assert.equal(answer.status, 302, await answer.text());
  await comeBack(new URL(answer.headers.get('location')));
}

/** The tokens of a sign-in, as the API gives them. */
async function signIn(authentication) {
  const begun = await begin(URL_OF_SERVER, authentication);
  if (!begun.ok) throw new Refused(begun.error);
  await visit(begun.authorization_url);
  const { status, error, oauth_state: state } = await statusOf(begun.job_id);
  if (status !== 'succeeded') throw new Refused(error);
  return { ...oauth2(authentication), state };
}

/** Runs the call in a conversation. */
async function run(auth) {
  const ends = [];
  const server = { url: URL_OF_SERVER, timeout: SCENARIO.startsWith('elicitation') ? 3 : 60, ...(auth && { auth }) };
  const steps = calls.length > 0 ? [{ calls }, { text: 'done' }] : [{ text: 'done' }];
  const more = { tools: [], secrets_encrypted: auth !== undefined, agent: { mcp_config: { it: server } } };
  try {
    const conversation = await play({ after: (end) => ends.push(end) }, steps, more);
    assert.equal(await conversation.ask('go'), 'finished');
    const events = await conversation.events();
    const { value } = events.find((event) => event.value?.mcp_servers !== undefined);
    // A server without tools is not in the list.
    const { error } = value.mcp_servers.it ?? {};
    if (error) throw new Refused(error);
    for (const { name } of calls) {
      assert.ok(events.some(isAction(name)), JSON.stringify(value));
      const failed = events.find(ofKind('AgentErrorEvent'));
      if (failed) throw new Refused(failed.error);
      assert.equal(events.find(isResult(name)).observation.is_error, false);
    }
  } finally {
    await Promise.all(ends.map((end) => end()));
  }
}

const signInAndRun = async (authentication) => run(await signIn(authentication));

/** A user signs in again, once, if the server says that it wants more. */
async function asUser() {
  if (!SCENARIO.startsWith('auth/')) return run();
  const authentication = AUTHENTICATIONS[SCENARIO];
  try {
    return await signInAndRun(authentication);
  } catch (error) {
    const scopes = scopesOf(error.message);
    if (!(error instanceof Refused) || scopes === undefined) throw error;
    return signInAndRun({ ...authentication, scopes });
  }
}

await asUser().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
