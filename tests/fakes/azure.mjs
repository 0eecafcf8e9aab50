// A fake of Azure OpenAI for tests: OpenAI's two formats (openai.mjs, responses.mjs), under Azure's paths, with its
// versions, keys, deployments, content filter and errors. A deployment is a scenario. Paths:
//
//   /openai/deployments/{deployment}/chat/completions?api-version={version}
//   /openai/responses?api-version={version}, since RESPONSES_SINCE
//   /openai/v1/chat/completions, /openai/v1/responses     without a version, or with v1 or preview
//
// Source: learn.microsoft.com/azure/ai-foundry/openai/reference and …/openai/concepts/content-filter.
import { chat } from './openai.mjs';
import { responses } from './responses.mjs';
import { reasons } from './responses-check.mjs';
import { sendJson, serveIfMain, startFake } from './model_server.mjs';

/** A token of Microsoft Entra ID: the one that may be sent as a bearer token to all paths. */
export const ENTRA_TOKEN = 'eyJ0eXAiOiJKV1Qi.eyJhdWQiOiJjb2duaXRpdmUi.c2lnbmF0dXJl';
export const RESPONSES_SINCE = '2025-03-01-preview';
const VERSIONS = new Set([
  '2024-02-01', '2024-06-01', '2024-10-21', '2024-08-01-preview', '2024-09-01-preview', '2024-10-01-preview',
  '2024-12-01-preview', '2025-01-01-preview', '2025-02-01-preview', RESPONSES_SINCE, '2025-04-01-preview',
]);
const V1_VERSIONS = new Set([null, 'v1', 'preview']);
/** Members of OpenAI's own chats that dated versions do not know. */
const UNKNOWN_MEMBERS = ['prompt_cache_key', 'prompt_cache_retention'];

const PATHS = [
  { pattern: /^\/openai\/deployments\/([^/]+)\/chat\/completions$/, format: chat, versions: VERSIONS },
  { pattern: /^\/openai\/responses$/, format: responses, versions: VERSIONS },
  { pattern: /^\/openai\/v1\/chat\/completions$/, format: chat, versions: V1_VERSIONS },
  { pattern: /^\/openai\/v1\/responses$/, format: responses, versions: V1_VERSIONS },
];

/** What a URL leads to: { format, versions, version, deployment }, or null. */
function endpointOf(url) {
  const { pathname, searchParams } = new URL(url, 'http://azure');
  const version = searchParams.get('api-version');
  for (const { pattern, ...endpoint } of PATHS) {
    const found = pattern.exec(pathname);
    if (found !== null && endpoint.versions.has(version))
      return { ...endpoint, version, deployment: found[1] && decodeURIComponent(found[1]) };
  }
  return null;
}

/** The model's scenario is that of the deployment, wherever it is named. */
const asked = ({ path, body }) => ({ ...body, model: endpointOf(path).deployment ?? body?.model });
const formatOf = (body) => (body.input === undefined ? chat : responses);
const bearerOf = ({ headers }) => headers.authorization?.replace(/^Bearer /, '');

function isKnown(entry, key) {
  const isV1 = endpointOf(entry.path).versions === V1_VERSIONS;
  return entry.headers['api-key'] === key || bearerOf(entry) === ENTRA_TOKEN || (isV1 && bearerOf(entry) === key);
}

function refusalOf(entry) {
  const { format, versions, version } = endpointOf(entry.path);
  const body = asked(entry);
  if (versions === VERSIONS && format === responses && version < RESPONSES_SINCE)
    return `Azure OpenAI Responses API is enabled only for api-version ${RESPONSES_SINCE} and later`;
  if (format === chat) {
    const unknown = versions === VERSIONS && UNKNOWN_MEMBERS.find((name) => body[name] !== undefined);
    if (unknown) return `Unrecognized request argument supplied: ${unknown}`;
    if (reasons(body.model ?? '') && body.max_tokens !== undefined)
      return 'Unsupported parameter: \'max_tokens\' is not supported with this model. Use \'max_completion_tokens\' instead.';
  }
  return format.refusalOf({ ...entry, body: entry.body === undefined ? undefined : body });
}

// --- the content filter ---

const SAFE = { hate: { filtered: false, severity: 'safe' }, self_harm: { filtered: false, severity: 'safe' }, sexual: { filtered: false, severity: 'safe' }, violence: { filtered: false, severity: 'safe' } };
const PROMPT = [{ prompt_index: 0, content_filter_results: { ...SAFE, jailbreak: { filtered: false, detected: false } } }];
const NOTHING = { id: '', object: '', created: 0, model: '' };
const CHUNKS = {
  before: [{ choices: [], ...NOTHING, prompt_filter_results: PROMPT }],
  choice: { content_filter_results: {} },
  // Of the asynchronous filter: a choice without a delta.
  after: [{ ...NOTHING, choices: [{ index: 0, finish_reason: null, content_filter_results: SAFE, content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 20 } }], usage: null }],
};

/** A step: the filter refuses the prompt. */
export const filtered = {
  status: 400,
  error: {
    message: 'The response was filtered due to the prompt triggering Azure OpenAI\'s content management policy. Please modify your prompt and retry.',
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: { ...SAFE, violence: { filtered: true, severity: 'high' }, jailbreak: { filtered: false, detected: false } },
    },
  },
};

/** A step: the deployment has had its share of calls for that time. */
export const throttled = (waitMs) => ({
  status: 429,
  error: {
    code: '429',
    message: `Requests to the ChatCompletions_Create Operation have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after ${Math.ceil(waitMs / 1000)} seconds.`,
  },
  headers: { 'retry-after-ms': String(waitMs), 'retry-after': String(Math.ceil(waitMs / 1000)), 'x-ratelimit-remaining-requests': '0' },
});

function answer(step, body, n) {
  const whole = formatOf(body).answer(step, body, n);
  if (formatOf(body) === responses || body.stream) return whole;
  return { ...whole, choices: whole.choices.map((choice) => ({ ...choice, content_filter_results: SAFE })), prompt_filter_results: PROMPT };
}

const NO_ACCESS = 'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.';
const NO_TOKEN = 'Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired.';

const api = {
  basePath: '',
  isCall: (path, url) => endpointOf(url) !== null,
  keyOf: ({ headers }) => headers['api-key'],
  isKnown,
  refusalOf,
  askedOf: asked,
  errors: {
    key: (entry) => (bearerOf(entry) === undefined ? { code: '401', message: NO_ACCESS } : { code: 'Unauthorized', message: NO_TOKEN }),
    refusal: (message) => ({ message, type: 'invalid_request_error', param: null, code: null }),
    model: () => ({
      code: 'DeploymentNotFound',
      message: 'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    }),
    missing: () => ({ code: '404', message: 'Resource not found' }),
  },
  sendError: (response, status, error, headers) => sendJson(response, status, { error: { code: String(status), ...error } }, headers),
  messagesOf: (body) => body.input ?? body.messages,
  stepIndex: (messages, body) => formatOf(body).stepIndex(messages),
  conversationOf: (body) => body.prompt_cache_key,
  answer,
  headers: () => ({ 'x-ms-region': 'Sweden Central', 'x-ratelimit-remaining-requests': '99' }),
  sendStream: (response, step, whole, body, beforeEnd) => formatOf(body).sendStream(response, step, whole, body, beforeEnd, CHUNKS),
  faults: chat.faults,
};

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(api, options);

await serveIfMain(import.meta.url, api);
