// A user's sign-in at an MCP server (tests/fakes/mcp_oauth.mjs), from its start to the browser's return.
import assert from 'node:assert/strict';
import { call, must } from './api.mjs';

export const oauth2 = (authentication) => ({ strategy: 'oauth2', ...(authentication && { authentication: { type: 'oauth', ...authentication } }) });
export const begin = async (url, authentication, options = {}) => must(200, 'POST', '/api/mcp/oauth/start', { json: { name: 'try', server: { type: 'http', url, auth: oauth2(authentication) }, timeout: 20 }, ...options });
export const statusOf = (job) => must(200, 'GET', `/api/mcp/oauth/status/${job}`);
/** The browser's return: without a key. */
export const comeBack = (url) => call('GET', url.pathname + url.search, { key: null, url: url.origin });

export async function signIn(fake, authentication) {
  const begun = await begin(fake.url, authentication);
  assert.equal(begun.ok, true, JSON.stringify(begun));
  const back = await comeBack(fake.approve(begun.authorization_url));
  return { begun, back, status: await statusOf(begun.job_id) };
}
