// Checks of Bedrock's Converse: the fake server applies them to every request, so that a test cannot pass with a
// request that the vendor would refuse. Messages are the vendor's where clients look for words in them. Stricter than
// the vendor: the last message must be the user's for every model. Looser: thinking is not bound to what comes before.
import { signatureOf } from './anthropic-check.mjs';

const BODY_MEMBERS = new Set([
  'messages', 'system', 'inferenceConfig', 'toolConfig', 'guardrailConfig', 'additionalModelRequestFields',
  'additionalModelResponseFieldPaths', 'requestMetadata', 'performanceConfig', 'serviceTier', 'outputConfig', 'promptVariables',
]);
const BLOCKS_OF = {
  user: new Set(['text', 'image', 'toolResult', 'cachePoint']),
  assistant: new Set(['text', 'toolUse', 'reasoningContent', 'cachePoint']),
  toolResult: new Set(['text', 'image', 'json']),
  system: new Set(['text', 'cachePoint']),
};
const BLOCK_MEMBERS = {
  image: ['format', 'source'],
  toolUse: ['toolUseId', 'name', 'input'],
  toolResult: ['toolUseId', 'content', 'status'],
  cachePoint: ['type', 'ttl'],
};
const FORMATS = new Set(['png', 'jpeg', 'gif', 'webp']);
const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const POINTS_MAX = 4;
const IMAGES_MAX = 20; // of a message
const IMAGE_MAX_BYTES = 3.75 * 1024 * 1024;
const BUDGET_MIN = 1024;

class Refusal extends Error {}

function must(condition, message) {
  if (!condition) throw new Refusal(message);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.length > 0;
const isBase64 = (value) => isText(value) && Buffer.from(value, 'base64').toString('base64') === value;
const isClaude = (model) => model.includes('anthropic.claude');
const isNova = (model) => model.includes('amazon.nova');
// By the reference, only these take images and a status in results of calls.
const takesFullResults = (model) => isClaude(model) || isNova(model);

function onlyMembers(object, allowed, where) {
  must(isObject(object), `Malformed input request: ${where}: expected type: Object`);
  for (const key of Object.keys(object)) must([...allowed].includes(key), `Malformed input request: #: extraneous key [${key}] is not permitted at ${where}`);
}

export const typeOf = (block) => Object.keys(block ?? {})[0];

function checkReasoning({ reasoningText: text, redactedContent, ...rest }, model, where) {
  onlyMembers(rest, [], where);
  must((text === undefined) !== (redactedContent === undefined), `${where}: reasoningText or redactedContent`);
  if (redactedContent !== undefined) {
    must(isBase64(redactedContent), `${where}.redactedContent: invalid base64`);
    return;
  }
  onlyMembers(text, ['text', 'signature'], where);
  must(isText(text.text), `${where}.reasoningText.text is blank`);
  must(text.signature === signatureOf(model, text.text), `${where}: Invalid \`signature\` in \`thinking\` block`);
}

function checkBlock(block, kind, model, where) {
  const type = typeOf(block);
  must(isObject(block) && Object.keys(block).length === 1, `${where}: a block is a union: exactly one member must be set`);
  must(BLOCKS_OF[kind].has(type), `${where}: ${type} is not permitted in ${kind}`);
  const value = block[type];
  if (BLOCK_MEMBERS[type] !== undefined) onlyMembers(value, BLOCK_MEMBERS[type], where);
  if (type === 'text') {
    must(typeof value === 'string' && value.trim() !== '', `The text field in the ContentBlock object at ${where} is blank. Add text to the text field, and try again.`);
  } else if (type === 'image') {
    must(FORMATS.has(value.format), `${where}: Could not process image`);
    onlyMembers(value.source, ['bytes'], `${where}.source`);
    must(isBase64(value.source.bytes), `${where}: Could not process image`);
    must(Buffer.byteLength(value.source.bytes, 'base64') <= IMAGE_MAX_BYTES, `${where}: image exceeds 3.75 MB`);
    must(kind !== 'toolResult' || takesFullResults(model), `${where}: This model doesn't support the image field in toolResult.`);
  } else if (type === 'toolUse') {
    must(NAME.test(value.toolUseId ?? ''), `Value '${value.toolUseId}' at '${where}.toolUse.toolUseId' failed to satisfy constraint: [a-zA-Z0-9_-]+`);
    must(NAME.test(value.name ?? ''), `Value '${value.name}' at '${where}.toolUse.name' failed to satisfy constraint: [a-zA-Z0-9_-]+`);
    must(isObject(value.input), `The format of the value at ${where}.toolUse.input is invalid. Provide a json object for the field and try again.`);
  } else if (type === 'toolResult') {
    must([undefined, 'success', 'error'].includes(value.status), `${where}.status is unknown`);
    must(Array.isArray(value.content), `${where}.toolResult.content is missing`);
    must(value.status === undefined || takesFullResults(model), `This model doesn't support the status field. Remove status and try again. (${where}.toolResult)`);
    must(value.content.length > 0 || value.status !== 'error', `The content field at ${where}.toolResult cannot be empty when status value is error.`);
    must(value.status !== 'error' || value.content.every((part) => typeOf(part) === 'text'), `${where}.toolResult: all content must be type \`text\` if \`is_error\` is true`);
    value.content.forEach((part, i) => checkBlock(part, 'toolResult', model, `${where}.content.${i}`));
  } else if (type === 'reasoningContent') {
    checkReasoning(value, model, where);
  } else if (type === 'cachePoint') {
    must(value.type === 'default', `${where}.cachePoint.type is unknown`);
    must(isClaude(model) || isNova(model), 'You invoked an unsupported model or your request did not allow prompt caching.');
  }
}

const usesOf = (message) => (message?.content ?? []).flatMap(({ toolUse }) => (toolUse ? [toolUse] : []));
const resultsOf = (message) => (message?.content ?? []).flatMap(({ toolResult }) => (toolResult ? [toolResult] : []));

const imagesOf = (blocks) => blocks.reduce((n, { image, toolResult }) => n + (image ? 1 : 0) + imagesOf(toolResult?.content ?? []), 0);

// All results of a message's calls are in the next one.
function checkResults(message, before, model, i) {
  const owed = new Set(usesOf(before).map(({ toolUseId }) => toolUseId));
  const results = resultsOf(message);
  must(results.length <= owed.size, `The number of toolResult blocks at messages.${i}.content exceeds the number of toolUse blocks of previous turn.`);
  for (const { toolUseId } of results) must(owed.delete(toolUseId), `The toolResult blocks at messages.${i}.content contain duplicate Ids or unknown ones: ${toolUseId}`);
  must(owed.size === 0, `Expected toolResult blocks at messages.${i}.content for the following Ids: ${[...owed].join(', ')}`);
  const hasWords = message.content.some((block) => ['text', 'image'].includes(typeOf(block)));
  must(results.length === 0 || !hasWords || isClaude(model), `messages.${i}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.`);
  const first = message.content.findIndex((block) => typeOf(block) !== 'toolResult');
  must(first < 0 || resultsOf({ content: message.content.slice(first) }).length === 0, `messages.${i}: tool_result blocks must come first in the message`);
}

function checkMessages(messages, model) {
  const seen = new Set();
  must(Array.isArray(messages) && messages.length > 0, 'messages: at least one message is required');
  messages.forEach((message, i) => {
    const where = `messages.${i}`;
    onlyMembers(message, ['role', 'content'], where);
    must(i > 0 || message.role === 'user', 'A conversation must start with a user message. Try again with a conversation that starts with a user message.');
    must(message.role === (i % 2 === 0 ? 'user' : 'assistant'), 'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.');
    must(Array.isArray(message.content) && message.content.length > 0, `The content field in the Message object at ${where} is empty. Add a ContentBlock object to the content field and try again.`);
    must(imagesOf(message.content) <= IMAGES_MAX, `${where}: too many images: a message may have ${IMAGES_MAX}`);
    message.content.forEach((block, n) => checkBlock(block, message.role, model, `${where}.content.${n}`));
    must(typeOf(message.content[0]) !== 'cachePoint', `${where}: a cache point needs something before it`);
    for (const { toolUseId } of usesOf(message)) {
      must(!seen.has(toolUseId), `messages: \`tool_use\` ids must be unique: ${toolUseId}`);
      seen.add(toolUseId);
    }
    checkResults(message, messages[i - 1], model, i);
  });
  must(messages.at(-1).role === 'user', 'This model does not support assistant message prefill. The conversation must end with a user message.');
}

function checkTools(config) {
  const names = new Set();
  onlyMembers(config, ['tools', 'toolChoice'], 'toolConfig');
  must(Array.isArray(config.tools) && config.tools.length > 0, 'toolConfig.tools: expected minimum item count: 1');
  config.tools.forEach((tool, i) => {
    const where = `toolConfig.tools.${i}`;
    onlyMembers(tool, ['toolSpec'], where);
    onlyMembers(tool.toolSpec, ['name', 'description', 'inputSchema', 'strict'], `${where}.toolSpec`);
    const { name, description, inputSchema } = tool.toolSpec;
    must(NAME.test(name ?? ''), `Value '${name}' at '${where}.toolSpec.name' failed to satisfy constraint: [a-zA-Z0-9_-]+`);
    must(description === undefined || isText(description), `${where}.toolSpec.description: valid min length: 1`);
    must(!names.has(name), `The tool ${name} is already defined at ${where}`);
    names.add(name);
    onlyMembers(inputSchema, ['json'], `${where}.toolSpec.inputSchema`);
    must(inputSchema.json?.type === 'object', `The value at ${where}.toolSpec.inputSchema.json.type must be one of the following: object.`);
  });
}

const isShare = (value) => value === undefined || (typeof value === 'number' && value >= 0 && value <= 1);

function checkConfig(config, model) {
  onlyMembers(config, ['maxTokens', 'temperature', 'topP', 'stopSequences'], 'inferenceConfig');
  must(config.maxTokens === undefined || (Number.isInteger(config.maxTokens) && config.maxTokens >= 1), 'inferenceConfig.maxTokens: valid min value: 1');
  must(isShare(config.temperature) && isShare(config.topP), 'inferenceConfig: valid range: 0..1');
  must(!isClaude(model) || config.temperature === undefined || config.topP === undefined, '`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  must(config.stopSequences === undefined || (Array.isArray(config.stopSequences) && config.stopSequences.every(isText)), 'inferenceConfig.stopSequences: valid min length: 1');
}

const FIELDS = {
  claude: ['thinking', 'output_config', 'anthropic_beta', 'top_k'],
  nova: ['inferenceConfig', 'reasoningConfig'],
  other: ['reasoning_effort', 'top_k'],
};

function checkThinking(body, { thinking, anthropic_beta: betas = [] }) {
  const config = body.inferenceConfig ?? {};
  if (thinking === undefined) return;
  onlyMembers(thinking, ['type', 'budget_tokens', ...(betas.includes(BINDING_BETA) ? ['block_binding'] : [])], 'thinking');
  must(['enabled', 'adaptive', 'disabled'].includes(thinking.type), 'thinking.type: Input tag is unknown');
  if (thinking.type === 'disabled') return;
  must(config.temperature === undefined || config.temperature === 1, '`temperature` may only be set to 1 when thinking is enabled');
  if (thinking.type !== 'enabled') return;
  must(Number.isInteger(thinking.budget_tokens) && thinking.budget_tokens >= BUDGET_MIN, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  must(thinking.budget_tokens < config.maxTokens, '`max_tokens` must be greater than `thinking.budget_tokens`');
  const at = body.messages.findLastIndex(({ role }) => role === 'assistant');
  must(usesOf(body.messages[at]).length === 0 || typeOf(body.messages[at].content[0]) === 'reasoningContent',
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`);
}

function checkFields(body, model) {
  const fields = body.additionalModelRequestFields;
  const maker = isClaude(model) ? 'claude' : isNova(model) ? 'nova' : 'other';
  if (fields === undefined) return;
  onlyMembers(fields, FIELDS[maker], 'additionalModelRequestFields');
  if (maker === 'claude') checkThinking(body, fields);
  if (fields.reasoningConfig?.maxReasoningEffort === 'high')
    must(['maxTokens', 'temperature', 'topP'].every((name) => body.inferenceConfig?.[name] === undefined), 'maxTokens, temperature and topP must be unset when maxReasoningEffort is high');
}

/** The blocks of a prompt in the order of its cache, without their points: { text, isMarked }. */
export function cacheableBlocks({ toolConfig, system = [], messages }) {
  const blocks = [...(toolConfig?.tools ?? []), ...system, ...messages.flatMap(({ content }) => content)];
  return blocks.flatMap((block, i) => (typeOf(block) === 'cachePoint' ? [] : [{ text: JSON.stringify(block), isMarked: typeOf(blocks[i + 1]) === 'cachePoint' }]));
}

function checkBody(body, model) {
  must(isObject(body), 'Malformed input request, please reformat your input and try again.');
  onlyMembers(body, BODY_MEMBERS, '#');
  checkMessages(body.messages, model);
  (body.system ?? []).forEach((block, i) => checkBlock(block, 'system', model, `system.${i}`));
  must(body.system === undefined || body.system.length > 0, 'system: expected minimum item count: 1');
  if (body.toolConfig !== undefined) checkTools(body.toolConfig);
  const hasTools = body.messages.some((message) => usesOf(message).length > 0 || resultsOf(message).length > 0);
  must(!hasTools || body.toolConfig !== undefined, 'The toolConfig field must be defined when using toolUse and toolResult content blocks.');
  if (body.inferenceConfig !== undefined) checkConfig(body.inferenceConfig, model);
  checkFields(body, model);
  const n = cacheableBlocks(body).filter(({ isMarked }) => isMarked).length;
  must(n <= POINTS_MAX, `A maximum of 4 blocks with cache_control may be provided. Found ${n}.`);
}

/** The reason to refuse the request to that model, or null. */
export function refusalOf(request, model) {
  try {
    must(request.method === 'POST', `method ${request.method}`);
    must((request.headers['content-type'] ?? '').startsWith('application/json'), 'content-type is no JSON');
    must(request.headers.expect === undefined, 'an Expect header');
    checkBody(request.body, model);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
