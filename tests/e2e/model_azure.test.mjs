// Conversations with models at Azure OpenAI: runs by both formats, waits, the content filter, and what a user is told
// when a key, a deployment or a version is wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESPONSES_SINCE, filtered, throttled } from '../fakes/azure.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { strictAzure } from './support/model.mjs';
import { Socket, restingSnapshot } from './support/socket.mjs';
import { WORDS, assertRan, errorsOf, runSteps } from './support/vendor_model.mjs';

const CHAT_VERSION = '2024-12-01-preview';
const WAIT_MS = 400;

const fake = await strictAzure();
const pathOf = {
  chat: (deployment) => `/openai/deployments/${deployment}/chat/completions?api-version=${CHAT_VERSION}`,
  responses: () => '/openai/v1/responses',
};
const requestsAt = (path) => fake.requests.filter((entry) => entry.path === path);

async function begin(t, deployment, steps, { llm = {}, ...more } = {}) {
  fake.setScenario(deployment, steps);
  const model = { ...llmOf(fake, 'x'), model: `azure/${deployment}`, ...llm };
  const conversation = await Conversation.create(startRequest(model, more));
  t.after(() => conversation.delete());
  return conversation;
}

const STEPS = runSteps();
const RUNS = {
  'chats, at once': { deployment: 'gpt-4.1-team', path: pathOf.chat },
  'chats, streamed': { deployment: 'gpt-4.1-live', path: pathOf.chat, llm: { stream: true } },
  'chats of a model that reasons': { deployment: 'o4-mini-team', path: pathOf.chat, llm: { max_output_tokens: 4000, api_mode: 'chat' } },
  'Responses, at once': { deployment: 'gpt-5.2-team', path: pathOf.responses },
  'Responses, streamed': { deployment: 'gpt-5.2-live', path: pathOf.responses, llm: { stream: true } },
  'Responses of a version': {
    deployment: 'gpt-5.2-dated', llm: { api_version: RESPONSES_SINCE }, path: () => `/openai/responses?api-version=${RESPONSES_SINCE}`,
  },
  'the newer form of the API': {
    deployment: 'gpt-4.1-v1', llm: { base_url: `${fake.url}/openai/v1`, stream: true }, path: () => '/openai/v1/chat/completions',
  },
};
for (const [name, { deployment, path, llm }] of Object.entries(RUNS)) {
  test(`a run calls a tool, then two at once, and ends: ${name}`, async (t) => {
    const conversation = await begin(t, deployment, STEPS, { llm });
    assert.equal(await conversation.ask('work'), 'finished');
    assertRan(await conversation.events());
    const requests = requestsAt(path(deployment)).filter(({ body }) => body.model === deployment);
    assert.equal(requests.length, STEPS.length);
    for (const { headers } of requests) {
      assert.equal(headers['api-key'], 'sk-test');
      assert.equal(headers.authorization, undefined);
    }
    const { stats } = await conversation.info();
    const { prompt_tokens: prompt, completion_tokens: completion, cache_read_tokens: cached } = stats.usage_to_metrics.agent.accumulated_token_usage;
    assert.ok(prompt >= 1000 * STEPS.length, `${prompt}`);
    assert.deepEqual([completion, cached], [20 * STEPS.length, 100 * STEPS.length]);
  });
}

test('the pieces of a streamed answer are its words, whatever the filter adds', async (t) => {
  const conversation = await begin(t, 'pieces', [{ text: WORDS }], { llm: { stream: true } });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  await session.frame(({ type }) => type === 'transient', 'the first snapshot');
  await conversation.say('go', true);
  await session.frame(({ type, event }) => type === 'transient' && restingSnapshot(['finished', 'error'])(event), 'the end');
  const deltas = session.frames.filter(({ type }) => type === 'delta');
  assert.equal(deltas.map(({ content }) => content).join(''), WORDS);
});

test('a deployment that is busy is asked again after the time that it names', async (t) => {
  const conversation = await begin(t, 'busy', [{ once: throttled(WAIT_MS), text: 'at last' }], { llm: { num_retries: 3, retry_multiplier: 0, retry_max_wait: 0 } });
  assert.equal(await conversation.ask('go'), 'finished');
  const [first, second] = requestsAt(pathOf.chat('busy'));
  assert.ok(second.at - first.at >= WAIT_MS, `${second.at - first.at}`);
  assert.ok(second.at - first.at < 1000, 'the milliseconds are read, not the seconds that are rounded up');
});

const ERRORS = {
  'a prompt that the filter refuses': {
    steps: [filtered], code: 'LLMContentPolicyViolationError', words: /content management policy.*content_filter/,
  },
  'an answer that the filter keeps back': {
    steps: [{ finish: 'content_filter' }], code: 'LLMContentPolicyViolationError', words: /content filter blocked the answer/,
  },
  'a wrong key': {
    llm: { api_key: 'sk-other' }, code: 'LLMAuthenticationError', words: /Your LLM API key appears to be invalid/,
  },
  'a name that is no deployment': {
    llm: { model: 'azure/nobody' }, code: 'NotFoundError',
    words: /API deployment for this resource does not exist.*DeploymentNotFound\) The name after azure\/ must be that of a deployment: "nobody" is none\./,
  },
  'a version that Azure does not know': {
    llm: { api_version: '2024-13-01' }, code: 'NotFoundError', words: /Resource not found \(error code: 404\) Is base_url .* api_version one that Azure knows\?/,
  },
  'a base URL that leads elsewhere': {
    llm: { base_url: `${fake.url}/v1` }, code: 'NotFoundError', words: /Resource not found .* Is base_url the address of the resource/,
  },
};
for (const [name, { steps = [{ text: 'hello' }], llm, code, words }] of Object.entries(ERRORS)) {
  test(`the user is told of ${name}`, async (t) => {
    const conversation = await begin(t, name.replaceAll(' ', '-'), steps, { llm });
    assert.equal(await conversation.ask('go'), 'error');
    const [error, ...others] = await errorsOf(conversation);
    assert.deepEqual(others, []);
    assert.equal(error.code, code);
    assert.match(error.detail, words);
  });
}
