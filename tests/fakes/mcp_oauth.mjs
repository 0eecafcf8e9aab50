// A server of the Model Context Protocol that requires tokens, and the authorization server that issues them, on
// two origins, for tests. They check requests (RFC 6749, 7591, 7636, 8414, 8707, 9728) and record
// their objections. Options change single answers: {resource, metadata, authorizationMetadata,
// registration, token, mcp}, each a function of the fake's answer.
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';

const listen = async (handle) => {
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    handle(request, text, response);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
};

const originOf = (server) => `http://127.0.0.1:${server.address().port}`;
const close = (server) => new Promise((closed) => {
  server.closeAllConnections?.();
  server.close(closed);
});

const send = (response, status, json, headers = {}) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));

/** {url, origin, issuer, objections, seen, clients, approve(url), close()}. */
export async function start(options = {}) {
  const fake = { objections: [], seen: [], clients: new Map(), codes: new Map(), tokens: new Set(), refreshTokens: new Map(), lifetime: 3600 };
  const must = (holds, words) => holds || fake.objections.push(words);
  const change = (name, value) => (options[name] ? options[name](value, fake) : value);

  function giveTokens(clientId, scope) {
    const tokens = { access_token: `at-${randomUUID()}`, refresh_token: `rt-${randomUUID()}`, token_type: 'Bearer', expires_in: fake.lifetime, scope };
    fake.tokens.add(tokens.access_token);
    fake.refreshTokens.set(tokens.refresh_token, clientId);
    return tokens;
  }

  /** The client at the token endpoint, authenticated by its registered method. */
  function clientOf(request, form) {
    const [scheme, credentials] = (request.headers.authorization ?? '').split(' ');
    const [id, secret] = scheme === 'Basic'
      ? Buffer.from(credentials, 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id'), form.get('client_secret') ?? undefined];
    const client = fake.clients.get(id);
    if (!client || client.client_secret !== secret) return undefined;
    const method = scheme === 'Basic' ? 'client_secret_basic' : secret ? 'client_secret_post' : 'none';
    must(method === client.token_endpoint_auth_method, `authenticates by ${method}`);
    return id;
  }

  function exchange(form, id) {
    const grant = fake.codes.get(form.get('code'));
    fake.codes.delete(form.get('code'));
    if (!grant || grant.client_id !== id) return [400, { error: 'invalid_grant', error_description: 'unknown code' }];
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
    must(challenge === grant.code_challenge, 'code_verifier does not fit');
    must(form.get('code_verifier')?.length >= 43, 'code_verifier is too short');
    must(form.get('redirect_uri') === grant.redirect_uri, 'redirect_uri differs');
    must(form.get('resource') === fake.resource, `resource is ${form.get('resource')}`);
    return [200, giveTokens(id, grant.scope)];
  }

  function refresh(form, id) {
    const owner = fake.refreshTokens.get(form.get('refresh_token'));
    fake.refreshTokens.delete(form.get('refresh_token'));
    must(form.get('resource') === fake.resource, `resource is ${form.get('resource')}`);
    return owner === id ? [200, giveTokens(id)] : [400, { error: 'invalid_grant' }];
  }

  const issuing = {
    'GET /.well-known/oauth-authorization-server/tenant': (request, text, response) => send(response, 200, change('authorizationMetadata', {
      issuer: fake.issuer,
      authorization_endpoint: `${fake.issuer}/authorize`,
      token_endpoint: `${fake.issuer}/token`,
      registration_endpoint: `${fake.issuer}/register`,
      token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
    })),
    'POST /tenant/register': (request, text, response) => {
      const asked = JSON.parse(text);
      must(asked.redirect_uris?.length === 1, 'redirect_uris');
      must(asked.grant_types?.includes('authorization_code') && asked.grant_types.includes('refresh_token'), 'grant_types');
      must(asked.response_types?.[0] === 'code', 'response_types');
      const client = change('registration', { ...asked, client_id: `client-${randomUUID()}` });
      if (client.client_id) fake.clients.set(client.client_id, client);
      return send(response, client.client_id ? 201 : 400, client);
    },
    'POST /tenant/token': (request, text, response) => {
      const form = new URLSearchParams(text);
      must(request.headers['content-type'] === 'application/x-www-form-urlencoded', 'content-type of the token request');
      const id = clientOf(request, form);
      if (!id) return send(response, 401, { error: 'invalid_client' });
      const [status, body] = form.get('grant_type') === 'refresh_token' ? refresh(form, id) : exchange(form, id);
      const changed = change('token', body);
      return changed === null ? undefined : send(response, status, changed);
    },
  };

  const serving = {
    'GET /.well-known/oauth-protected-resource/mcp': (request, text, response) => send(response, 200, change('resourceMetadata', {
      resource: fake.resource, authorization_servers: [fake.issuer], scopes_supported: ['tools', 'files'],
    })),
    'POST /mcp': (request, text, response) => {
      const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
      if (!fake.tokens.has(token)) {
        return send(response, 401, {}, { 'www-authenticate': `Bearer error="invalid_token", resource_metadata="${fake.origin}/.well-known/oauth-protected-resource/mcp"` });
      }
      const { id, method } = JSON.parse(text);
      if (id === undefined) return response.writeHead(202).end();
      const results = {
        initialize: () => ({ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'f', version: '1' } }),
        'tools/list': () => ({ tools: [{ name: 'private' }] }),
        'tools/call': () => ({ content: [{ type: 'text', text: change('mcp', `with ${token}`) }] }),
      };
      return send(response, 200, { jsonrpc: '2.0', id, result: results[method]() });
    },
  };

  const answerBy = (table, name) => (request, text, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    fake.seen.push({ server: name, what: `${request.method} ${pathname}`, headers: request.headers, text });
    const handle = table[`${request.method} ${pathname}`];
    return handle ? handle(request, text, response) : response.writeHead(404).end();
  };

  const authority = await listen(answerBy(issuing, 'authority'));
  const server = await listen(answerBy(serving, 'server'));
  fake.issuer = `${originOf(authority)}/tenant`;
  fake.origin = originOf(server);
  fake.url = `${fake.origin}/mcp`;
  fake.resource = fake.url;

  /** A browser and its user at the authorization endpoint; resolves with the redirect. */
  fake.approve = (address, more = {}) => {
    const url = new URL(address);
    const query = url.searchParams;
    must(`${url.origin}${url.pathname}` === `${fake.issuer}/authorize`, 'authorization endpoint');
    const client = fake.clients.get(query.get('client_id'));
    must(client?.redirect_uris?.includes(query.get('redirect_uri')), 'redirect_uri was not registered');
    must(query.get('response_type') === 'code' && query.get('code_challenge_method') === 'S256', 'response_type, code_challenge_method');
    must(query.get('resource') === fake.resource, 'resource');
    const code = `code-${randomUUID()}`;
    fake.codes.set(code, Object.fromEntries(query));
    const back = new URL(query.get('redirect_uri'));
    const said = { code, state: query.get('state'), iss: fake.issuer, ...more };
    for (const [name, value] of Object.entries(said)) if (value !== undefined) back.searchParams.set(name, value);
    return back;
  };
  fake.close = () => Promise.all([close(authority), close(server)]);
  return fake;
}
