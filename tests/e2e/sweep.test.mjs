// Invalid requests for every operation of the description: each is answered, errors have the documented
// form, and a refused request writes nothing. The requests are always the same; SWEEP_SEED, a number, changes them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { operationsOf } from './support/contract.mjs';
import { callsOf, PREPARE } from './support/contract_calls.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { query, tableCounts } from './support/database.mjs';
import { AGENT_URL } from './support/instance.mjs';
import { requestsOf } from './support/nonsense.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const SEED = Number(process.env.SWEEP_SEED ?? 1);
const PER_OPERATION = 24;
const AT_ONCE = 6;
const ANSWER_MS = 60_000;
const PROBLEMS_SHOWN = 30;
const ROUNDS_MAX = 4;
const SCOPED = '/api/conversations/{runtime_conversation_id}';

// Statuses that do not depend on the server's state; a 404 or 409 may differ the next time.
const FOR_ITS_FORM = [400, 413, 422];
const REFUSALS = [400, 403, 404, 405, 409, 410, 413, 422, 429, 501];
// Other answers for reasons outside the request: no editor runs, a source cannot be fetched.
const MAY_ALSO = new Map([
  ['GET /api/vscode/url', [503]],
  [`GET ${SCOPED}/vscode/url`, [503]],
  ['POST /api/plugins/fetch', [502, 504]],
  ['POST /api/conversations/{conversation_id}/ask_agent', [502, 504]],
  // The agent may not finish.
  ['POST /v1/chat/completions', [500]],
  ['POST /v1/responses', [500]],
]);
// These would delete objects that the others need.
const NEVER_RIGHT = ['DELETE /api/conversations/{conversation_id}', 'DELETE /api/conversations/{conversation_id}/runtime'];

let fake;
let user;
let operations;
let document;
let right;

/** An agent that sends any body with any method, and keeps its connections. */
const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });

function send({ method, path, query: pairs, sent }) {
  const target = new URL(AGENT_URL);
  const search = pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  const headers = { 'x-session-api-key': user.key };
  if (sent.body !== undefined) Object.assign(headers, { 'content-type': sent.type, 'content-length': sent.body.length });
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, host: target.hostname, port: target.port, method, path: search === '' ? path : `${path}?${search}`, headers, timeout: ANSWER_MS }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode, text: Buffer.concat(chunks).toString() }));
      answer.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error(`no answer in ${ANSWER_MS} ms`)));
    request.on('error', reject);
    request.end(sent.body);
  });
}

/** Sends all, several at a time; resolves with [request, answer] pairs. */
async function sendAll(requests) {
  const pairs = [];
  const waiting = [...requests];
  const sendNext = async () => {
    while (waiting.length > 0) {
      const request = waiting.shift();
      pairs.push([request, await send(request).catch((error) => ({ status: 0, text: String(error) }))]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
  return pairs;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isProblem = (one) => typeof one.type === 'string' && Array.isArray(one.loc) && ['body', 'path', 'query', 'header'].includes(one.loc[0]) && typeof one.msg === 'string';

/** The form of an error: a text, an object of texts, or a list of problems with their locations. */
function isRefusal({ status, text }) {
  const { detail } = parse(text) ?? {};
  if (Array.isArray(detail)) return status === 422 && detail.length > 0 && detail.every(isProblem);
  return (typeof detail === 'string' && detail !== '') || (typeof detail === 'object' && detail !== null);
}

const show = ({ method, path, query: pairs, sent }) =>
  `${method} ${path.slice(0, 120)} ${JSON.stringify(pairs).slice(0, 160)} ${sent.type ?? ''} ${sent.body === undefined ? '' : JSON.stringify(sent.body.toString().slice(0, 300))}`;

function faultOf(route, request, answer) {
  const { status, text } = answer;
  if (status >= 200 && status < 300) return null;
  if (status === 307) return null;
  if (!REFUSALS.includes(status) && !MAY_ALSO.get(route)?.includes(status)) return `${status}: ${show(request)} → ${text.slice(0, 200)}`;
  return isRefusal(answer) ? null : `form of ${status}: ${show(request)} → ${text.slice(0, 300)}`;
}

/** Resolves when no run and no job is left: workers' writes must not be counted. */
const atRest = () =>
  waitUntil(async () => {
    const [{ runs, jobs }] = await query(`SELECT (SELECT count(*) FROM conversations WHERE wanted_at IS NOT NULL OR execution_status = 'running') AS runs,
      (SELECT count(*) FROM jobs WHERE done_at IS NULL) AS jobs`);
    return Number(runs) === 0 && Number(jobs) === 0;
  }, 'no conversation runs, and no job is left');

/** Names of members that the description knows. */
function membersOf(operation) {
  const schema = operation.requestBody?.content?.['application/json']?.schema;
  const name = schema?.$ref?.split('/').pop();
  return Object.keys((name === undefined ? schema : document.components.schemas[name])?.properties ?? {});
}

/** Repeats the refused requests; those that are accepted now are left out of the next round. */
async function assertWritesNothing(refused) {
  let requests = refused;
  const taken = [];
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await atRest();
    const before = await tableCounts();
    const again = await sendAll(requests);
    taken.push(...again.filter(([, { status }]) => !FOR_ITS_FORM.includes(status)).map(([request, { status }]) => `round ${round}: ${status} ${show(request)}`));
    requests = again.filter(([, { status }]) => FOR_ITS_FORM.includes(status)).map(([request]) => request);
    if (requests.length === again.length) {
      assert.deepEqual(await tableCounts(), before, `SWEEP_SEED=${SEED}`);
      return;
    }
  }
  assert.fail(`refused now and taken then, SWEEP_SEED=${SEED}: ${taken.slice(-PROBLEMS_SHOWN).join('\n')}`);
}

before(async () => {
  fake = await startModel();
  user = await newUser();
  const conversation = await Conversation.create(startRequest(llmOf(fake, 'text')), { key: user.key });
  assert.equal(await conversation.ask('hi'), 'finished');
  const { stdout, command_id: bashId } = await must(200, 'POST', '/api/bash/execute_bash_command', { key: user.key, json: { command: PREPARE } });
  const world = {
    conversation_id: conversation.id,
    runtime_conversation_id: conversation.id,
    event_id: (await conversation.events())[0].id,
    sha: stdout.trim(),
    bashId: { '/api': bashId, [SCOPED]: bashId },
    llm: llmOf(fake, 'text'),
    startRequest: startRequest(llmOf(fake, 'text')),
  };
  const calls = new Map(callsOf(world).map((one) => [one.route, one]));
  right = (route) => {
    const { params = {}, query: pairs = {}, json } = calls.get(route) ?? {};
    const known = NEVER_RIGHT.includes(route) ? {} : world;
    const isObject = json !== undefined && !Array.isArray(json);
    return { params: { ...known, ...params }, query: pairs, json: isObject ? json : {} };
  };
  document = await must(200, 'GET', '/openapi.json', { key: null });
  operations = operationsOf(document);
});

after(async () => {
  agent.destroy();
  await fake.close();
});

test('invalid requests are refused in the documented form, without a write', async (t) => {
  t.diagnostic(`SWEEP_SEED=${SEED}, ${operations.length} operations`);
  const faults = [];
  const refused = [];
  for (const one of operations) {
    const requests = requestsOf(one, membersOf(one.operation), right(one.route), { seed: SEED, count: PER_OPERATION });
    for (const [request, answer] of await sendAll(requests)) {
      const fault = faultOf(one.route, request, answer);
      if (fault !== null) faults.push(fault);
      if (FOR_ITS_FORM.includes(answer.status)) refused.push(request);
    }
  }
  assert.deepEqual(faults.slice(0, PROBLEMS_SHOWN), [], `${faults.length} faults, SWEEP_SEED=${SEED}`);
  assert.ok(refused.length > operations.length, 'most of it was refused');
  t.diagnostic(`${refused.length} of ${operations.length * PER_OPERATION} refused`);
  await assertWritesNothing(refused);
});

test('a path answers 405 to other methods, with its methods in Allow', async () => {
  const paths = new Map();
  for (const { path, method } of operations) paths.set(path, [...(paths.get(path) ?? []), method]);
  const faults = [];
  for (const [path, methods] of paths) {
    const filled = path.replaceAll(/\{\w+\}/g, randomUUID());
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !methods.includes(one))) {
      const answer = await call(method, filled, { key: user.key });
      const allowed = answer.headers.get('allow')?.split(', ') ?? [];
      // A pattern may cover the path of another: /conversations/{id} covers /conversations/search.
      const isOther = answer.status !== 405 && allowed.length === 0 && answer.status < 500;
      const isFault = answer.status === 405 ? answer.json?.detail !== 'Method Not Allowed' || methods.some((one) => !allowed.includes(one)) : !isOther;
      if (isFault) faults.push(`${method} ${path}: ${answer.status} ${allowed} ${answer.text.slice(0, 100)}`);
    }
  }
  assert.deepEqual(faults, []);
});
