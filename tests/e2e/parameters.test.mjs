// Parameters of path and query are validated by the contract's schema, and errors name them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { contract, operationsOf } from './support/contract.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { newUser } from './support/users.mjs';

const UUID = '00000000-0000-4000-8000-000000000000';

let fake;
let user;
let fills;
let served;

before(async () => {
  fake = await startModel();
  user = await newUser();
  const conversation = await Conversation.create(startRequest(llmOf(fake, 'text')), { key: user.key });
  fills = { conversation_id: conversation.id, runtime_conversation_id: conversation.id, sha: 'abcd1234' };
  const own = operationsOf(await must(200, 'GET', '/openapi.json', { key: null }));
  served = new Set(own.filter(({ operation }) => !('501' in operation.responses)).map(({ route }) => route));
});

after(() => fake.close());

/** The schema of a value that is given; null cannot be written in a query. */
function given(schema) {
  const one = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  const name = one.$ref?.split('/').pop();
  return name === undefined ? one : contract.components.schemas[name];
}

/** Values that the schema refuses, each with the type of the problem. */
function wrongValues(schema) {
  if (schema.enum) return [['bogus', ['enum', 'literal_error']], ['', ['enum', 'literal_error']]];
  if (schema.format === 'uuid') return [['xyz', ['uuid_parsing']]];
  if (schema.format === 'date-time') return [['x', ['datetime_from_date_parsing', 'datetime_parsing']]];
  if (schema.type === 'boolean') return [['perhaps', ['bool_parsing']]];
  if (schema.type !== 'integer') return [];
  const wrong = [['x', ['int_parsing']], ['1.5', ['int_parsing']]];
  if (schema.exclusiveMinimum !== undefined) wrong.push([schema.exclusiveMinimum, ['greater_than']], [-7, ['greater_than']]);
  if (schema.minimum !== undefined) wrong.push([schema.minimum - 1, ['greater_than_equal']]);
  if (schema.maximum !== undefined) wrong.push([schema.maximum + 1, ['less_than_equal']]);
  return wrong;
}

/** A valid value. */
function rightValue(parameter) {
  const schema = given(parameter.schema);
  if (schema.enum) return schema.enum[0];
  if (parameter.name === 'path') return WORKING_DIR;
  return parameter.name === 'ids' ? UUID : 'x';
}

const queryOf = ({ parameters }) => parameters.filter((one) => one.in === 'query');
const rightQuery = (operation, without) =>
  Object.fromEntries(queryOf(operation).filter(({ name, required }) => required && name !== without).map((one) => [one.name, rightValue(one)]));
const fill = (path, more = {}) => path.replaceAll(/\{(\w+)\}/g, (_, name) => more[name] ?? fills[name] ?? 'none');

/** The deviation of an error answer, or null. */
function faultOf({ status, json, text }, types, loc) {
  const problem = json?.detail?.[0];
  if (status === 422 && types.includes(problem?.type) && JSON.stringify(problem?.loc?.slice(0, 2)) === JSON.stringify(loc)) return null;
  return `${status}, not 422 ${types} at ${loc}: ${text.slice(0, 200)}`;
}

/** All checks that cases(operation) returns for the served operations: {query, params, types, loc}. */
async function faults(cases) {
  const found = [];
  for (const { route, method, path, operation } of operationsOf(contract).filter((one) => served.has(one.route))) {
    // Problems of the body may be reported first.
    for (const { query, params, types, loc } of operation.requestBody?.required ? [] : cases(operation)) {
      const answer = await call(method, fill(path, params), { key: user.key, query });
      const fault = faultOf(answer, types, loc);
      if (fault !== null) found.push(`${route} ${JSON.stringify(query ?? params)}: ${fault}`);
    }
  }
  return found;
}

test('parameters of a wrong type or outside their limits are refused', async () => {
  const cases = (operation) =>
    queryOf(operation)
      .filter(({ name }) => name !== 'ids')
      .flatMap((one) => wrongValues(given(one.schema)).map(([value, types]) => ({ query: { ...rightQuery(operation), [one.name]: value }, types, loc: ['query', one.name] })));
  assert.deepEqual(await faults(cases), []);
});

test('missing required parameters are reported', async () => {
  const cases = (operation) =>
    queryOf(operation).filter(({ required }) => required).map(({ name }) => ({ query: rightQuery(operation, name), types: ['missing'], loc: ['query', name] }));
  assert.deepEqual(await faults(cases), []);
});

test('invalid ids in the path are refused', async () => {
  const ids = ['conversation_id', 'runtime_conversation_id'];
  const cases = (operation) =>
    operation.parameters
      .filter((one) => one.in === 'path' && ids.includes(one.name) && !(one.name === 'conversation_id' && operation.parameters.some(({ name }) => name === 'runtime_conversation_id')))
      .map(({ name }) => ({ query: rightQuery(operation), params: { [name]: 'xyz' }, types: ['uuid_parsing'], loc: ['path', name] }));
  assert.deepEqual(await faults(cases), []);
});
