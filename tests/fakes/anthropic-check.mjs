// Checks of Anthropic's Messages: the fake server applies them to every request, so that a test cannot pass with a
// request that the vendor would refuse. Messages are the vendor's where clients look for words in them. Stricter than
// the vendor: roles must alternate, though it joins neighbours of one role, and max_tokens 0 is refused.
import { createHash } from 'node:crypto';

const BODY_MEMBERS = new Set([
  'model', 'max_tokens', 'messages', 'system', 'tools', 'tool_choice', 'metadata', 'stop_sequences', 'stream',
  'temperature', 'top_p', 'top_k', 'thinking', 'output_config', 'service_tier',
]);
const BLOCK_MEMBERS = {
  text: new Set(['type', 'text', 'cache_control']),
  image: new Set(['type', 'source', 'cache_control']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
};
const BLOCKS_OF = {
  user: new Set(['text', 'image', 'tool_result']),
  assistant: new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']),
  tool_result: new Set(['text', 'image']),
  system: new Set(['text']),
};
const SAMPLING = ['temperature', 'top_p', 'top_k'];
/** The versions of the API, and whether they have sampling parameters. */
const VERSIONS = new Map([['2023-06-01', true], ['2026-10-21', false]]);
const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const EFFORTS = new Set(['low', 'medium', 'high', 'xhigh', 'max']);
const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MARKS_MAX = 4;
const BUDGET_MIN = 1024;

class Refusal extends Error {}

function must(condition, message) {
  if (!condition) throw new Refusal(message);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.length > 0;

function onlyMembers(object, allowed, where) {
  must(isObject(object), `${where}: Input should be an object`);
  for (const key of Object.keys(object)) must(allowed.has(key), `${where}.${key}: Extra inputs are not permitted`);
}

const withoutMarks = (value) => JSON.stringify(value, (key, member) => (key === 'cache_control' ? undefined : member));

/** Newer models bind thinking to all that stands before it. */
const isBinding = (model) => /^claude-(opus|sonnet|haiku)-5-5|^claude-(fable|mythos)-5-[12]/.test(model);

/** What a model signs its thinking with, as block n of message i: another model's is refused, and so is another text. */
export function signatureOf(model, thinking, body = {}, i = 0, n = 0) {
  const hash = createHash('sha256').update(`${model}\n${thinking}`);
  if (isBinding(model)) {
    const before = body.messages.slice(0, i);
    hash.update(withoutMarks([body.system, body.tools, before, blocksOf(body.messages[i]).slice(0, n)]));
  }
  return hash.digest('base64');
}

function checkMark(block, where) {
  const mark = block.cache_control;
  if (mark === undefined) return;
  onlyMembers(mark, new Set(['type', 'ttl']), `${where}.cache_control`);
  must(mark.type === 'ephemeral', `${where}.cache_control.type: Input should be 'ephemeral'`);
}

function checkImage(source, where) {
  must(isObject(source), `${where}.source: Field required`);
  if (source.type === 'url') {
    onlyMembers(source, new Set(['type', 'url']), `${where}.source`);
    must(isText(source.url), `${where}.source.url: Field required`);
    return;
  }
  onlyMembers(source, new Set(['type', 'media_type', 'data']), `${where}.source`);
  must(source.type === 'base64', `${where}.source.type: Input should be 'base64' or 'url'`);
  must(IMAGE_TYPES.has(source.media_type), `${where}.source.base64.media_type: Input should be an image's`);
  must(isText(source.data) && Buffer.from(source.data, 'base64').toString('base64') === source.data, `${where}.source.data: invalid base64 data`);
}

function checkBlock(block, kind, where) {
  must(isObject(block) && BLOCKS_OF[kind].has(block.type), `${where}.type: ${block?.type} is not permitted in ${kind}`);
  onlyMembers(block, BLOCK_MEMBERS[block.type], where);
  checkMark(block, where);
  if (block.type === 'text') {
    must(isText(block.text), `${where}: text content blocks must be non-empty`);
    must(block.text.trim() !== '', `${where}: text content blocks must contain non-whitespace text`);
  } else if (block.type === 'image') {
    checkImage(block.source, where);
  } else if (block.type === 'tool_use') {
    must(isText(block.id) && ID.test(block.id), `${where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    must(isText(block.name) && NAME.test(block.name), `${where}.name: String should match pattern`);
    must(isObject(block.input), `${where}.input: Input should be a valid dictionary`);
  } else if (block.type === 'thinking') {
    must(typeof block.thinking === 'string', `${where}.thinking: Field required`);
  } else if (block.type === 'redacted_thinking') {
    must(isText(block.data), `${where}.data: Field required`);
  } else if (block.type === 'tool_result') {
    must(block.is_error === undefined || typeof block.is_error === 'boolean', `${where}.is_error: Input should be a valid boolean`);
    checkContent(block.content ?? '', 'tool_result', where);
  }
}

function checkContent(content, kind, where) {
  if (typeof content === 'string') {
    must(kind === 'tool_result' || content.trim() !== '', `${where}: text content must be non-empty`);
    return;
  }
  must(Array.isArray(content), `${where}.content: Input should be a valid list`);
  must(content.length > 0 || kind === 'tool_result', `${where}: all messages must have non-empty content`);
  content.forEach((block, i) => checkBlock(block, kind, `${where}.content.${i}`));
}

const blocksOf = (message) => (Array.isArray(message?.content) ? message.content : []);
const usesOf = (message) => blocksOf(message).filter(({ type }) => type === 'tool_use');

// All results of a message's calls are in the next one, before anything else.
function checkResults(message, before, i) {
  const owed = new Set(usesOf(before).map(({ id }) => id));
  let hasOther = false;
  blocksOf(message).forEach((block, n) => {
    if (block.type !== 'tool_result') {
      hasOther = true;
      return;
    }
    must(!hasOther, `messages.${i}: tool_result blocks must come first in the message`);
    must(owed.delete(block.tool_use_id),
      `messages.${i}.content.${n}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`);
  });
  must(owed.size === 0,
    `messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...owed].join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`);
}

function checkMessages(messages) {
  const seen = new Set();
  must(Array.isArray(messages) && messages.length > 0, 'messages: at least one message is required');
  messages.forEach((message, i) => {
    const where = `messages.${i}`;
    onlyMembers(message, new Set(['role', 'content']), where);
    must(message.role === (i % 2 === 0 ? 'user' : 'assistant'),
      'messages: roles must alternate between "user" and "assistant", beginning with "user"');
    checkContent(message.content, message.role, where);
    for (const { id } of usesOf(message)) {
      must(!seen.has(id), `${where}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
    checkResults(message, messages[i - 1], i);
  });
  must(messages.at(-1).role === 'user', 'This model does not support assistant message prefill. The conversation must end with a user message.');
}

// Returns the number of blocks that the server would drop.
function checkSignatures(body) {
  let nDropped = 0;
  body.messages.forEach((message, i) => blocksOf(message).forEach((block, n) => {
    if (block.type !== 'thinking' || block.signature === signatureOf(body.model, block.thinking, body, i, n)) return;
    const where = `messages.${i}.content.${n}: Invalid \`signature\` in \`thinking\` block.`;
    must(isBinding(body.model), where);
    must(body.thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block',
      `${where} The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`);
    nDropped += 1;
  }));
  return nDropped;
}

function checkTools(tools) {
  const names = new Set();
  must(Array.isArray(tools), 'tools: Input should be a valid list');
  tools.forEach((tool, i) => {
    onlyMembers(tool, new Set(['name', 'description', 'input_schema', 'cache_control', 'type']), `tools.${i}`);
    must(isText(tool.name) && NAME.test(tool.name), `tools.${i}.name: String should match pattern`);
    must(!names.has(tool.name), 'tools: Tool names must be unique.');
    names.add(tool.name);
    must(tool.input_schema?.type === 'object', `tools.${i}.input_schema.type: Field required`);
    checkMark(tool, `tools.${i}`);
  });
}

function checkSystem(system) {
  if (typeof system === 'string') return;
  must(Array.isArray(system), 'system: Input should be a valid list');
  system.forEach((block, i) => checkBlock(block, 'system', `system.${i}`));
}

const THINKING_MEMBERS = {
  enabled: ['type', 'budget_tokens', 'display'], adaptive: ['type', 'display'], disabled: ['type'], between_tools: ['type'],
};

function checkThinking(body, betas) {
  const { thinking } = body;
  if (thinking === undefined) return;
  must(THINKING_MEMBERS[thinking.type] !== undefined, 'thinking.type: Input tag is unknown');
  const bindings = betas.includes(BINDING_BETA) ? ['block_binding'] : [];
  onlyMembers(thinking, new Set([...THINKING_MEMBERS[thinking.type], ...bindings]), 'thinking');
  if (thinking.block_binding !== undefined)
    must(['drop_block', 'error'].includes(thinking.block_binding.prefix_mismatch_behavior), 'thinking.block_binding: Input is unknown');
  if (thinking.type === 'disabled') return;
  must(body.temperature === undefined || body.temperature === 1, '`temperature` may only be set to 1 when thinking is enabled');
  must(body.top_k === undefined, '`top_k` must be unset when thinking is enabled');
  if (thinking.type !== 'enabled') return;
  must(Number.isInteger(thinking.budget_tokens) && thinking.budget_tokens >= BUDGET_MIN,
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  must(thinking.budget_tokens < body.max_tokens, '`max_tokens` must be greater than `thinking.budget_tokens`');
  const at = body.messages.findLastIndex(({ role }) => role === 'assistant');
  const first = blocksOf(body.messages[at])[0];
  must(usesOf(body.messages[at]).length === 0 || ['thinking', 'redacted_thinking'].includes(first.type),
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first?.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`);
}

/** The blocks that can carry a cache mark, in the order of the prompt. */
export function cacheableBlocks(body) {
  const own = (list) => (Array.isArray(list) ? list : []);
  return [...own(body.tools), ...own(body.system), ...body.messages.flatMap(blocksOf)];
}

function checkBody(body, version, betas) {
  must(isObject(body), 'the body is no object');
  onlyMembers(body, BODY_MEMBERS, 'body');
  must(isText(body.model), 'model: Field required');
  for (const name of SAMPLING)
    must(body[name] === undefined || VERSIONS.get(version), `${name}: this parameter was removed in version ${version}`);
  must(Number.isInteger(body.max_tokens), 'max_tokens: Field required');
  must(body.max_tokens >= 1, 'max_tokens: Input should be greater than or equal to 1');
  checkMessages(body.messages);
  if (body.tools !== undefined) checkTools(body.tools);
  if (body.system !== undefined) checkSystem(body.system);
  checkThinking(body, betas);
  const nDropped = checkSignatures(body);
  const n = cacheableBlocks(body).filter(({ cache_control: mark }) => mark !== undefined).length;
  must(n <= MARKS_MAX, `A maximum of 4 blocks with cache_control may be provided. Found ${n}.`);
  must(body.temperature === undefined || (body.temperature >= 0 && body.temperature <= 1), 'temperature: range: 0..1');
  must(body.temperature === undefined || body.top_p === undefined, '`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  must(body.stream === undefined || typeof body.stream === 'boolean', 'stream: Input should be a valid boolean');
  if (body.output_config === undefined) return nDropped;
  onlyMembers(body.output_config, new Set(['effort']), 'output_config');
  must(EFFORTS.has(body.output_config.effort), 'output_config.effort: Input is unknown');
  return nDropped;
}

// The reason to refuse the request, or null. Sets n_dropped, the number of blocks of thinking that are ignored.
export function refusalOf(request) {
  const version = request.headers['anthropic-version'];
  try {
    must(request.method === 'POST', `method ${request.method}`);
    must((request.headers['content-type'] ?? '').startsWith('application/json'), 'content-type is no JSON');
    must(VERSIONS.has(version), `anthropic-version: ${version} is not a valid version`);
    must(request.headers.expect === undefined, 'an Expect header');
    request.n_dropped = checkBody(request.body, version, request.headers['anthropic-beta'] ?? '');
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
