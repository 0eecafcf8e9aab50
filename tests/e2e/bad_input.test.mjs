// Invalid requests: refused with a message, never with a 5xx, and without partial writes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { request as rawRequest } from '../deploy/http.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { rowCounts } from './support/database.mjs';
import { AGENT_URL, API_KEY, WORKING_DIR } from './support/instance.mjs';

let fake;
let conversation;

before(async () => {
  fake = await startModel();
  conversation = await Conversation.start(fake, 'text');
  await conversation.ask('hi');
});

after(async () => {
  await conversation?.delete();
  await fake.close();
});

/** Runs body and checks that it added and removed no row. */
async function writingNothing(body) {
  const before = await rowCounts();
  await body();
  assert.deepEqual(await rowCounts(), before);
}

function assertRefused(answer, statuses, what) {
  assert.ok([statuses].flat().includes(answer.status), `${what}: ${answer.status} ${answer.text?.slice(0, 300)}`);
  assert.ok(['string', 'object'].includes(typeof answer.json?.detail), `${what}: ${answer.text}`);
}

// Routes that read a JSON object: path and a valid body.
const bodies = () => [
  ['POST', '/api/conversations', startRequest(llmOf(fake, 'text'))],
  ['POST', `${conversation.path}/events`, { content: [{ type: 'text', text: 'x' }] }],
  ['POST', `${conversation.path}/events/respond_to_confirmation`, { accept: false }],
  ['PATCH', conversation.path, { title: 'T' }],
  ['POST', `${conversation.path}/secrets`, { secrets: {} }],
  ['POST', `${conversation.path}/confirmation_policy`, { policy: { kind: 'NeverConfirm' } }],
  ['POST', '/api/bash/start_bash_command', { command: 'true' }],
  ['POST', `${conversation.path}/bash/execute_bash_command`, { command: 'true' }],
];

const json = { 'content-type': 'application/json' };

test('malformed JSON is a 422', async () => {
  const texts = [
    '{', '', '   ', 'nonsense', '"text"', '5', 'null', 'true', '[]', '[{}]', '{"a":1}{', "{'a': 1}", '{"a":1,}', `${'['.repeat(5000)}`, `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`,
    '{"a": 1e999}', `{"a": ${'9'.repeat(400)}}`, '{"a":1,"a":2}', '\ufeff{}',
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), Buffer.from('{"title":"\xc3("}', 'latin1'), '{"title":"\\ud800"}', '{"title":"a\\u0000b"}', Buffer.from('{"title":"a\0b"}'),
  ];
  await writingNothing(async () => {
    for (const [method, path] of bodies()) {
      for (const body of texts) assertRefused(await call(method, path, { headers: json, body }), 422, `${method} ${path} ${String(body).slice(0, 40)}`);
    }
  });
});

test('members of the wrong type are a 422', async () => {
  const wrong = [5, -1, 1.5, true, [], {}, [[]], { a: {} }, 'x'.repeat(10), null];
  const isAllowed = (path, member, value) => {
    if (value === null || (typeof value === 'object' && !Array.isArray(value))) return true;
    if (member === 'command' || member === 'title') return typeof value === 'string';
    if (member === 'content') return Array.isArray(value) && value.length === 0;
    if (member === 'accept') return typeof value === 'boolean';
    return false;
  };
  await writingNothing(async () => {
    for (const [method, path, right] of bodies()) {
      for (const member of Object.keys(right)) {
        if (member === 'autotitle') continue;
        for (const value of wrong) {
          if (isAllowed(path, member, value)) continue;
          assertRefused(await call(method, path, { json: { ...right, [member]: value } }), 422, `${method} ${path} ${member}=${JSON.stringify(value)}`);
        }
      }
    }
  });
});

test('start requests that contradict the contract are a 422', async () => {
  const right = startRequest(llmOf(fake, 'text'));
  const wrong = [
    {}, { workspace: right.workspace }, { agent: right.agent }, { ...right, workspace: {} }, { ...right, workspace: { working_dir: '/w', kind: 'RemoteWorkspace' } },
    { ...right, agent: { ...right.agent, kind: 'Nope' } }, { ...right, agent: { kind: 'Agent' } }, { ...right, agent: { ...right.agent, llm: { model: 5 } } },
    { ...right, max_iterations: 0 }, { ...right, max_iterations: 'x' },
    { ...right, tags: { 'Bad-Key': 'x' } }, { ...right, conversation_runtime: 'kubernetes' }, { ...right, conversation_id: 'xyz' },
    { ...right, container: { memory: 'lots' } }, { ...right, container: { cpus: 0 } }, { ...right, container: { unknown: 1 } },
    { ...right, initial_message: { role: 'user', content: 5 } }, { ...right, initial_message: { role: 'robot', content: [] } },
    { ...right, confirmation_policy: { kind: 'Foo' } }, { ...right, secrets: { A: { value: 'hunter2-x' } } }, { ...right, client_tools: [{ name: 'a' }] },
    { ...right, security_analyzer: { kind: 'EnsembleSecurityAnalyzer', analyzers: [] } }, { ...right, security_analyzer: { kind: 'EnsembleSecurityAnalyzer', analyzers: [{ kind: 'Nope' }] } },
    { ...right, hook_config: { stop: [{ hooks: [{ type: 'zz', command: 'x' }] }] } }, { ...right, plugins: [{}] }, { ...right, agent_definitions: [{}] },
    { ...right, agent: { ...right.agent, persona: '' } }, { ...right, agent: { ...right.agent, filter_tools_regex: '(' } }, { ...right, secrets: { A: null } },
    { ...right, agent_profile_id: '00000000-0000-4000-8000-000000000000' }, { ...right, parent_conversation_id: '00000000-0000-4000-8000-000000000000' },
  ];
  await writingNothing(async () => {
    for (const request of wrong) {
      const answer = await call('POST', '/api/conversations', { json: request });
      assertRefused(answer, [422, 404], JSON.stringify(request).slice(-200));
      assert.doesNotMatch(answer.text, /sk-test|hunter2/, 'no secret comes back');
    }
  });
});

test('messages that contradict the contract are a 422', async () => {
  const wrong = [
    { content: 'text' }, { role: 'robot', content: [] }, { role: 'assistant', content: [] }, { content: [{ type: 'text', text: 'x', extra: 1 }] }, { content: [{ type: 'text' }] },
    { content: [{ type: 'video' }] }, { content: [{ type: 'text', text: 5 }] }, { content: [{ type: 'image', image_urls: 'x' }] }, { content: [], run: 'perhaps' },
  ];
  await writingNothing(async () => {
    for (const message of wrong) assertRefused(await conversation.call('POST', '/events', { json: message }), 422, JSON.stringify(message));
  });
});

test('bodies that are too large are a 413, from nginx as from deft-fcgi', async () => {
  const huge = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(17 << 20) }] });
  await writingNothing(async () => {
    for (const [method, path] of bodies()) {
      const answer = await call(method, path, { headers: json, body: huge });
      assert.equal(answer.status, 413, `${method} ${path}`);
      assert.equal(typeof answer.json?.detail, 'string', answer.text.slice(0, 200));
    }
    const lie = await rawRequest(AGENT_URL, 'POST', `${conversation.path}/events`, [`X-Session-API-Key: ${API_KEY}`, 'Content-Type: application/json', 'Content-Length: 99999999999'], '{}');
    assert.equal(lie.status, 413);
  });
});

test('malformed ids are a 422, unknown paths a 404, other methods a 405', async () => {
  await writingNothing(async () => {
    for (const id of ['xyz', '0', '..%2f', 'a'.repeat(300), "'; DROP TABLE events; --", `${conversation.id}x`, conversation.id.slice(0, -1), '%ff%fe']) {
      for (const [method, rest] of [['GET', ''], ['DELETE', ''], ['POST', '/run'], ['GET', '/events/search'], ['GET', '/runtime'], ['GET', '/bash/bash_events/search']]) {
        assertRefused(await call(method, `/api/conversations/${id.includes('%') ? id : encodeURIComponent(id)}${rest}`), [422, 404, 400], `${method} ${id}${rest}`);
      }
    }
    assert.equal((await call('GET', '/api/conversations/%00')).status, 400, 'nginx itself refuses a zero in a path');
    for (const id of ['xyz', "' OR 1=1", 'a'.repeat(500)]) assertRefused(await conversation.call('GET', `/events/${encodeURIComponent(id)}`), [404, 422, 400], id);
    for (const path of ['/api/nosuch', '/api', '/api/conversations/x/y/z', `${conversation.path}/nosuch`]) assertRefused(await call('GET', path), 404, path);
    for (const [method, path] of [['PUT', '/api/conversations'], ['DELETE', '/api/conversations'], ['POST', conversation.path], ['DELETE', `${conversation.path}/run`], ['PATCH', '/health']]) {
      assertRefused(await call(method, path, { headers: json, body: '{}' }), 405, `${method} ${path}`);
    }
  });
});

test('a missing or additional slash is redirected', async () => {
  for (const [path, target] of [['/api/conversations/search/', '/api/conversations/search'], [`${conversation.path}/`, conversation.path], ['/api/tools?x=1', '/api/tools/?x=1']]) {
    const answer = await call('GET', path);
    assert.equal(answer.status, 307, path);
    const { pathname, search } = new URL(answer.headers.get('location'), new URL(path, AGENT_URL));
    assert.equal(pathname + search, target);
  }
});

test('unknown HTTP methods are refused', async () => {
  for (const method of ['TRACE', 'CONNECT', 'BREW', 'G3T', 'PROPFIND']) {
    const { status } = await rawRequest(AGENT_URL, method, '/api/conversations', [`X-Session-API-Key: ${API_KEY}`]);
    assert.ok(status >= 400 && status < 500, `${method}: ${status}`);
  }
});

test('numbers and times in queries are checked', async () => {
  const at = (path, query) => call('GET', path, { query });
  await writingNothing(async () => {
    for (const path of ['/api/conversations/search', `${conversation.path}/events/search`, '/api/bash/bash_events/search', `${conversation.path}/bash/bash_events/search`]) {
      for (const limit of ['-1', '0', '101', '1.5', 'x', '', '0x10', '9'.repeat(30), ' 5 5', '1;2']) assertRefused(await at(path, { limit }), 422, `${path} limit=${limit}`);
    }
    for (const time of ['x', '2026', '2026-13-01T00:00:00', '2026-02-30T00:00:00', "'", '']) {
      assertRefused(await at(`${conversation.path}/events/search`, { timestamp__gte: time }), 422, `timestamp__gte=${time}`);
    }
    assert.equal((await at(`${conversation.path}/events/search`, { page_id: "x' OR 1=1", kind: '%', source: 'user' })).status, 200);
  });
});

test('file routes require absolute, existing paths', async () => {
  const form = () => {
    const body = new FormData();
    body.append('file', new Blob(['x']), 'x');
    return body;
  };
  for (const [method, path, query, status, options] of [
    ['GET', 'download', { path: 'relative' }, 400], ['GET', 'download', { path: '/nowhere/at/all' }, 404], ['GET', 'download', { path: WORKING_DIR }, 400],
    ['GET', 'download', {}, 422], ['POST', 'upload', { path: 'relative' }, 400, { body: form() }], ['POST', 'upload', { path: WORKING_DIR }, 400, { body: form() }],
    ['POST', 'upload', { path: '/etc/passwd/x' }, 400, { body: form() }], ['POST', 'upload', { path: `${WORKING_DIR}/x` }, 422, { headers: json, body: '{}' }],
    ['POST', 'upload', {}, 422, { body: form() }],
    ['POST', 'upload', { path: `${WORKING_DIR}/x` }, [400, 422], { headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: '--b\r\nbroken' }],
  ]) {
    assertRefused(await call(method, `/api/file/${path}`, { query, ...options }), status, `${method} ${path} ${JSON.stringify(query)}`);
  }
});
