// Every operation of the contract is called on a running deft: its answer has the contract's form,
// or is a 501 that docs/conformance.md lists. deft's own OpenAPI description agrees.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, getWithBody, must } from './support/api.mjs';
import { answerSchema, bodySchema, contract, operationsOf, Validator } from './support/contract.mjs';
import { callsOf, PREPARE } from './support/contract_calls.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';

const ADMITTED = new URL('../../docs/conformance.md', import.meta.url);
const SCOPED = '/api/conversations/{runtime_conversation_id}';

let fake;
let world;
let own;
let ownOperations;
let ownValidator;
const operations = new Map(operationsOf(contract).map((one) => [one.route, one]));
const validator = new Validator(contract);
const made = [];

async function prepare() {
  const conversation = await Conversation.start(fake, 'hello');
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
  const run = (path) => must(200, 'POST', `${path}/bash/execute_bash_command`, { json: { command: PREPARE } });
  const output = await run(conversation.path);
  assert.equal(output.exit_code, 0, output.stderr);
  const shared = await run('/api');
  const commandOf = async (path, id) => (await must(200, 'GET', `${path}/bash/bash_events/search`, { query: { command_id__eq: id } })).items[0].command_id;
  const [first] = await conversation.events();
  return {
    conversation_id: conversation.id,
    runtime_conversation_id: conversation.id,
    event_id: first.id,
    sha: shared.stdout.trim(),
    bashId: { '/api': await commandOf('/api', shared.command_id), [SCOPED]: await commandOf(conversation.path, output.command_id) },
    llm: llmOf(fake, 'text'),
    startRequest: startRequest(llmOf(fake, 'text')),
  };
}

before(async () => {
  fake = await startModel();
  world = await prepare();
  own = await must(200, 'GET', '/openapi.json', { key: null });
  ownOperations = new Map(operationsOf(own).map((one) => [one.route, one.operation]));
  ownValidator = new Validator(own);
});

after(async () => {
  for (const id of made) await call('DELETE', `/api/conversations/${id}`);
  await fake.close();
});

function pathOf({ route, params = {} }) {
  return route.split(' ')[1].replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = params[name] ?? world[name];
    assert.notEqual(value, undefined, `${route}: nothing fills ${name}`);
    return name === 'file_path' ? value : encodeURIComponent(value);
  });
}

async function send(one) {
  const [method] = one.route.split(' ');
  if (one.getBody) return getWithBody(pathOf(one), JSON.stringify(one.getBody));
  return call(method, pathOf(one), { query: one.query, json: one.json, body: one.body?.() });
}

/** Values of an answer that later calls need, and objects to delete at the end. */
function keep(one, { json, status, headers }) {
  if (one.keep) {
    const [name, ...members] = one.keep;
    world[name] = members.reduce((value, member) => value?.[member], json) ?? 'none';
  }
  const isMade = status === 201 && /\/(conversations|fork|children)$/.test(one.route);
  if (isMade) made.push(json.id ?? json.conversation_id);
  const answering = headers?.get('x-openhands-serverconversation-id');
  if (answering) made.push(answering);
}

/** The contract omits the items of event pages, and the status 201 for new objects. */
function schemaOf(operation, route, status) {
  if (route === 'POST /api/conversations') return answerSchema(operation, 200);
  if (route.endsWith('{conversation_id}/events/search')) {
    return { type: 'object', required: ['items', 'next_page_id'], properties: { items: { type: 'array', items: { $ref: '#/components/schemas/Event' } } } };
  }
  return answerSchema(operation, status);
}

function check(one, answer, problems) {
  const { operation } = operations.get(one.route);
  const isGood = answer.status >= 200 && answer.status < 300;
  if (answer.status === 501) {
    if (typeof answer.json?.detail !== 'string') problems.push(`${one.route}: 501 without words: ${answer.text}`);
    return;
  }
  if (!isGood && !one.also?.includes(answer.status)) {
    problems.push(`${one.route}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return;
  }
  if (!isGood) {
    if (answer.json?.detail === undefined) problems.push(`${one.route}: ${answer.status} without detail: ${answer.text.slice(0, 300)}`);
    return;
  }
  const schema = schemaOf(operation, one.route, answer.status);
  if (schema === undefined && !(answer.status in operation.responses)) problems.push(`${one.route}: ${answer.status} is not in the contract`);
  const described = answerSchema(ownOperations.get(one.route), answer.status);
  for (const [whose, judge, promised] of [['contract', validator, schema], ['own description', ownValidator, described]]) {
    if (promised === undefined || Object.keys(promised).length === 0) continue;
    for (const error of judge.errors(promised, answer.json).slice(0, 5)) problems.push(`${one.route} by the ${whose}: ${error} in ${answer.text.slice(0, 200)}`);
  }
}

const admitted = () => [...readFileSync(ADMITTED, 'utf8').matchAll(/^\| `([A-Z]+ \/\S*)` \|/gm)].map(([, route]) => route);

test('the validator detects deviations', async () => {
  const info = await must(200, 'GET', `/api/conversations/${world.conversation_id}`);
  const reference = { $ref: '#/components/schemas/ConversationInfo' };
  assert.deepEqual(validator.errors(reference, info), []);
  for (const wrong of [{ id: 5 }, { execution_status: 'bogus' }, { confirmation_policy: { kind: 'Nope' } }, { tags: [] }]) {
    assert.notDeepEqual(validator.errors(reference, { ...info, ...wrong }), [], JSON.stringify(wrong));
  }
  const { id: _, ...anonymous } = info;
  assert.notDeepEqual(validator.errors(reference, anonymous), []);
});

test('the test calls every operation of the contract with valid requests', () => {
  const calls = callsOf(world);
  assert.deepEqual(calls.map(({ route }) => route).sort(), [...operations.keys()].sort());
  const problems = calls.flatMap((one) => {
    const schema = bodySchema(operations.get(one.route).operation);
    return schema === undefined || one.json === undefined ? [] : validator.errors(schema, one.json).map((error) => `${one.route}: ${error}`);
  });
  assert.deepEqual(problems, []);
});

test('every operation answers as in the contract, or is listed as not served', async () => {
  const problems = [];
  const unserved = [];
  for (const one of callsOf(world)) {
    const answer = await send(one);
    if (answer.status === 501) unserved.push(one.route);
    keep(one, answer);
    check(one, answer, problems);
  }
  assert.deepEqual(problems, []);
  const listed = admitted();
  assert.deepEqual(unserved.filter((route) => !listed.includes(route)), [], 'these answer 501 and are not listed in docs/conformance.md');
  assert.deepEqual(listed.filter((route) => !unserved.includes(route)), [], 'these are served: take them out of docs/conformance.md');
});

test('deft describes every operation of the contract', () => {
  const described = operationsOf(own).map(({ route }) => route);
  assert.deepEqual([...operations.keys()].filter((route) => !described.includes(route)), []);
  for (const { route, operation } of operationsOf(own)) {
    assert.match(operation.operationId, /^[a-z][a-z0-9_]*$/i, route);
    if (operations.has(route)) assert.equal(typeof operation.summary, 'string', `${route} has no summary`);
  }
});

/** Query parameters that deft adds: docs/conformance.md. */
const ADDED = { 'GET /api/conversations/{conversation_id}/events/search': ['on_path'] };

test('deft describes the parameters of the contract, and those that it adds', () => {
  for (const { route, operation } of operations.values()) {
    const names = ({ parameters }, where) => parameters.filter((one) => one.in === where).map((one) => `${one.name}${one.required ? '*' : ''}`).sort();
    for (const where of ['path', 'query']) {
      const added = where === 'query' ? ADDED[route] ?? [] : [];
      assert.deepEqual(names(ownOperations.get(route), where), [...names(operation, where), ...added].sort(), route);
    }
  }
});

test('all references in the OpenAPI description resolve', () => {
  const references = [...JSON.stringify(own).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
  assert.ok(references.length > 100);
  for (const name of references) assert.ok(name in own.components.schemas, name);
  assert.equal(own.openapi, '3.1.0');
});

test('the OpenAPI description is served as a page', async () => {
  for (const path of ['/docs', '/redoc']) {
    const answer = await call('GET', path, { key: null });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type'), /^text\/html/);
    const loaded = [...answer.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target]) => target);
    assert.ok(loaded.length >= 3);
    for (const target of loaded) {
      assert.doesNotMatch(target, /^\w+:|^\/\//, 'nothing comes from elsewhere');
      assert.equal((await call('GET', `/${target}`, { key: null })).status, 200, target);
    }
  }
});
