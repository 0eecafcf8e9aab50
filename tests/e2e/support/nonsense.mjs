// Invalid requests, generated from a seed: values of wrong types, members that are missing or
// additional, texts that are not JSON, invalid ids. They are derived from the description of an operation.
import fc from 'fast-check';

const DEEP = 100;
const LONG = 5000;
const deep = (open, close) => `${open.repeat(DEEP)}1${close.repeat(DEEP)}`;

/** Texts with a special meaning. */
const texts = ['', ' ', '\n', 'x', 'x'.repeat(LONG), 'ü€😀\u202e', 'a\u0000b', '\ufeff', '**********', "'; DROP TABLE events; --", '../../etc/passwd', '/', '/nowhere/\u0001', 'null', 'true', '0', '-1',
  '1e999', '9'.repeat(30), '2026-13-45T00:00:00', '00000000-0000-4000-8000-000000000000', '{{ instance_text }}', '%s%n', '$(true)', 'http://', 'data:,x'];
const numbers = [0, -1, 1, 0.5, -0.1, 101, 2 ** 31, 2 ** 53 - 1, -(2 ** 53), 1e300, -1e300];

const text = fc.oneof(fc.constantFrom(...texts), fc.fullUnicodeString({ maxLength: 20 }));
const number = fc.oneof(fc.constantFrom(...numbers), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const nested = fc.constantFrom(JSON.parse(deep('[', ']')), JSON.parse(deep('{"a":', '}')), [[[]]], { a: { a: {} } }, [null], [{}], { '': '' }, { kind: 'Nope' }, { kind: null }, { type: 5 });
const value = fc.oneof(fc.constant(null), fc.boolean(), number, text, nested, fc.constant([]), fc.constant({}), fc.jsonValue({ maxDepth: 2 }));

/** Bodies that do not match their type. */
const rawBodies = ['', ' ', '{', '}', 'nonsense', '"text"', '5', 'null', 'true', '[]', '[[]]', '[null]', '{}', '{"a":1}{', "{'a':1}", '{"a":1,}', '\ufeff{}', '{"a":1e999}', '{"a":1,"a":2}', '{"a":"\\ud800"}',
  '{"\\u0000":1}', deep('[', ']'), deep('{"a":', '}'), '['.repeat(3000), `{"a":${'9'.repeat(400)}}`].map((body) => Buffer.from(body));
const brokenBodies = [...rawBodies, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), Buffer.from([0xff, 0xfe, 0x7b, 0x00]), Buffer.from('{"a":"\xc3("}', 'latin1'), Buffer.from('{"a":"a\0b"}')];

/** A document with a repeated key, otherwise valid. */
function doubled(base, name) {
  const right = JSON.stringify(base);
  return Buffer.from(`${right.slice(0, -1)}${right === '{}' ? '' : ','}${JSON.stringify(name)}:1,${JSON.stringify(name)}:2}`);
}

/** The base with members replaced, left out, or added. */
function mutated(base, names) {
  const known = [...new Set([...Object.keys(base), ...names])];
  const change = fc.record({
    name: known.length > 0 ? fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: fc.constantFrom('extra', '', '__proto__', '\u0000', 'ü') }) : fc.constantFrom('extra', '', 'ü'),
    value,
    isDeletion: fc.boolean().map((is) => is && known.length > 0),
    isInside: fc.boolean(),
  });
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const body = structuredClone(base);
    for (const { name, value: made, isDeletion, isInside } of changes) {
      // A copy: otherwise a value could be put into itself.
      const junk = structuredClone(made);
      const inner = body[name];
      if (isInside && inner !== null && typeof inner === 'object' && Object.keys(inner).length > 0) inner[Object.keys(inner)[0]] = junk;
      else if (isDeletion) delete body[name];
      else Object.defineProperty(body, name, { value: junk, enumerable: true, configurable: true, writable: true });
    }
    return Buffer.from(JSON.stringify(body));
  });
}

function bodyArbitrary(base, names) {
  const raw = fc.constantFrom(...brokenBodies, ...names.slice(0, 3).map((name) => doubled(base, name)));
  return fc.oneof({ weight: 3, arbitrary: mutated(base, names) }, { weight: 1, arbitrary: raw });
}

const rawSegments = ['%ff', '%00', '%F0%28%8C', '%2e%2e%2f', '%', 'xyz', "'%20OR%201=1", 'a'.repeat(300), '-', '~', '%20'];

/** A path with invalid parts; valid ones are more frequent. */
function pathArbitrary(path, right) {
  const parts = path.split(/(\{\w+\})/).map((part) => {
    if (!/^\{\w+\}$/.test(part)) return fc.constant(part);
    const good = encodeURIComponent(right[part.slice(1, -1)] ?? 'none');
    return fc.oneof({ weight: 3, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: fc.oneof(fc.constantFrom(...rawSegments), fc.fullUnicodeString({ minLength: 1, maxLength: 8 }).map(encodeURIComponent)) });
  });
  return fc.tuple(...parts).map((chosen) => chosen.join(''));
}

const queryValue = fc.oneof(text, number.map(String), fc.boolean().map(String));

function queryArbitrary(parameters, right = {}) {
  const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  const pairs = fc.array(fc.tuple(names.length > 0 ? fc.constantFrom(...names, 'extra') : fc.constant('extra'), queryValue), { maxLength: 3 });
  return fc.record({ pairs, withRight: fc.boolean() }).map((chosen) => [...(chosen.withRight ? Object.entries(right) : []), ...chosen.pairs]);
}

const FORM = 'multipart/form-data; boundary=b';
const forms = ['', '--b', '--b--\r\n', '--b\r\nbroken', '--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n', '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nno end', '{}'].map((body) => Buffer.from(body));
const types = [FORM, 'multipart/form-data', 'application/json', 'text/plain'];

/** A request: {method, path, query, body, type}. right: {params, query, json} of a valid call. */
export function requestArbitrary({ method, path, operation }, names, right) {
  const content = operation.requestBody?.content ?? {};
  const none = fc.constant({ body: undefined, type: undefined });
  let sent = none;
  if ('multipart/form-data' in content) sent = fc.record({ body: fc.constantFrom(...forms), type: fc.constantFrom(...types) });
  else if ('application/json' in content) sent = fc.record({ body: bodyArbitrary(right.json ?? {}, names), type: fc.constant('application/json') });
  else if (method !== 'GET') sent = fc.oneof(none, fc.record({ body: fc.constantFrom(...brokenBodies), type: fc.constant('application/json') }));
  return fc.record({ method: fc.constant(method), path: pathArbitrary(path, right.params), query: queryArbitrary(operation.parameters, right.query), sent });
}

/** That many requests, always the same for a seed. */
export function requestsOf(one, names, right, { seed, count }) {
  return fc.sample(requestArbitrary(one, names, right), { seed, numRuns: count });
}
