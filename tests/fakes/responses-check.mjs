// Checks of OpenAI's Responses: the fake server applies them to every request, so that a test cannot pass with a
// request that the vendor would refuse. Stricter than the vendor: results follow their calls in their order.
import { createHash } from 'node:crypto';

const BODY_MEMBERS = new Set([
  'model', 'input', 'instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'store', 'include', 'reasoning', 'text',
  'max_output_tokens', 'temperature', 'top_p', 'stream', 'metadata', 'prompt_cache_key', 'prompt_cache_retention', 'service_tier',
]);
const ITEM_MEMBERS = {
  message: new Set(['type', 'role', 'content', 'id', 'status']),
  reasoning: new Set(['type', 'id', 'summary', 'content', 'encrypted_content', 'status']),
  function_call: new Set(['type', 'id', 'call_id', 'name', 'arguments', 'status']),
  function_call_output: new Set(['type', 'id', 'call_id', 'output', 'status']),
};
const PART_MEMBERS = {
  input_text: new Set(['type', 'text']),
  input_image: new Set(['type', 'image_url', 'detail']),
  output_text: new Set(['type', 'text', 'annotations', 'logprobs']),
};
const PARTS_OF = { user: ['input_text', 'input_image'], assistant: ['output_text'], output: ['input_text', 'input_image'] };
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const SUMMARIES = new Set(['auto', 'concise', 'detailed']);
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const ID_MAX_CHARS = 64;

class Refusal extends Error {}

function must(condition, message) {
  if (!condition) throw new Refusal(message);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.length > 0;

function onlyMembers(object, allowed, where) {
  must(isObject(object), `Invalid type for '${where}': expected an object.`);
  for (const key of Object.keys(object)) must(allowed.has(key), `Unknown parameter: '${where}.${key}'.`);
}

/** Models that reason refuse sampling parameters, and others an effort. */
export const reasons = (model) => /^(gpt-5|gpt-6|o[134]|codex)/.test(model);

/** The encrypted form of a model's reasoning; another model's is refused, and so is one under another id. */
export const encrypted = (model, id) => `gAAA${createHash('sha256').update(`${model}\n${id}`).digest('base64')}`;

function checkPart(part, kind, where) {
  must(isObject(part) && PARTS_OF[kind].includes(part.type), `Invalid value: '${part?.type}'. Supported values are: ${PARTS_OF[kind]} (${where}).`);
  onlyMembers(part, PART_MEMBERS[part.type], where);
  if (part.type === 'input_image') {
    must(/^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,)/.test(part.image_url), `Invalid '${where}.image_url'.`);
    must(['auto', 'low', 'high'].includes(part.detail ?? 'auto'), `Invalid value: '${where}.detail'.`);
  } else {
    must(typeof part.text === 'string', `Missing required parameter: '${where}.text'.`);
  }
}

function checkParts(parts, kind, where) {
  must(Array.isArray(parts), `Invalid type for '${where}'.`);
  must(parts.length > 0, `Invalid '${where}': empty array.`);
  parts.forEach((part, i) => checkPart(part, kind, `${where}[${i}]`));
}

function checkId(id, prefix, where) {
  must(isText(id) && id.startsWith(prefix), `Invalid '${where}': '${id}'. Expected an ID that begins with '${prefix}'.`);
  must(id.length <= ID_MAX_CHARS, `Invalid '${where}': string too long. Expected a string with maximum length ${ID_MAX_CHARS}, but got a string with length ${id.length} instead.`);
}

function checkReasoning(item, model, where) {
  checkId(item.id, 'rs_', `${where}.id`);
  must(Array.isArray(item.summary), `Missing required parameter: '${where}.summary'.`);
  for (const part of item.summary) must(part.type === 'summary_text' && typeof part.text === 'string', `Invalid '${where}.summary'.`);
  must(isText(item.encrypted_content), `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`);
  must(item.encrypted_content === encrypted(model, item.id), `The encrypted content for item ${item.id} could not be verified.`);
}

function checkCall(item, seen, where) {
  must(isText(item.call_id) && item.call_id.length <= ID_MAX_CHARS, `Invalid '${where}.call_id': string too long.`);
  must(!seen.has(item.call_id), `Duplicate '${where}.call_id'.`);
  seen.add(item.call_id);
  if (item.id !== undefined) checkId(item.id, 'fc_', `${where}.id`);
  must(NAME.test(item.name), `Invalid '${where}.name': string does not match pattern.`);
  must(typeof item.arguments === 'string', `Missing required parameter: '${where}.arguments'.`);
}

function checkOutput(item, owed, where) {
  must(owed.includes(item.call_id), `No tool call found for function call output with call_id ${item.call_id}.`);
  must(item.call_id === owed[0], `${where}: the next call is ${owed[0]}`);
  must(item.output !== undefined, `Missing required parameter: '${where}.output'.`);
  if (typeof item.output !== 'string') checkParts(item.output, 'output', `${where}.output`);
}

function checkMessage(item, where) {
  must(['user', 'assistant'].includes(item.role), `Invalid value: '${item.role}' (${where}.role).`);
  checkParts(item.content, item.role, `${where}.content`);
}

function checkInput(input, model) {
  const seen = new Set();
  let owed = [];
  must(Array.isArray(input) && input.length > 0, "Missing required parameter: 'input'.");
  input.forEach((item, i) => {
    const where = `input[${i}]`;
    must(isObject(item) && ITEM_MEMBERS[item.type] !== undefined, `Invalid value: '${item?.type}' (${where}.type).`);
    onlyMembers(item, ITEM_MEMBERS[item.type], where);
    if (item.type === 'function_call_output') {
      checkOutput(item, owed, where);
      owed = owed.slice(1);
      return;
    }
    if (item.type === 'function_call') {
      checkCall(item, seen, where);
      owed.push(item.call_id);
      return;
    }
    must(owed.length === 0, `No tool output found for function call ${owed[0]}.`);
    if (item.type === 'message') checkMessage(item, where);
    if (item.type !== 'reasoning') return;
    checkReasoning(item, model, where);
    must(i + 1 < input.length && input[i + 1].type !== 'function_call_output' && input[i + 1].role !== 'user',
      `Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
  });
  must(owed.length === 0, `No tool output found for function call ${owed[0]}.`);
}

function checkTools(tools) {
  const names = new Set();
  must(Array.isArray(tools) && tools.length > 0, "Invalid 'tools': empty array.");
  tools.forEach((tool, i) => {
    const where = `tools[${i}]`;
    onlyMembers(tool, new Set(['type', 'name', 'description', 'parameters', 'strict']), where);
    must(tool.type === 'function' && NAME.test(tool.name), `Missing required parameter: '${where}.name'.`);
    must(!names.has(tool.name), `Duplicate tool name: '${tool.name}'.`);
    names.add(tool.name);
    must(tool.parameters?.type === 'object', `Invalid schema for function '${tool.name}'.`);
    must(tool.strict === false, `Invalid schema for function '${tool.name}': strict schemas require all members.`);
  });
}

function checkReasoningMember(body) {
  if (body.reasoning === undefined) return;
  must(reasons(body.model), `Unsupported parameter: 'reasoning.effort' is not supported with this model.`);
  onlyMembers(body.reasoning, new Set(['effort', 'summary']), 'reasoning');
  must(body.reasoning.effort === undefined || EFFORTS.has(body.reasoning.effort), `Invalid value: '${body.reasoning.effort}'.`);
  must(body.reasoning.summary === undefined || SUMMARIES.has(body.reasoning.summary), `Invalid value: '${body.reasoning.summary}'.`);
}

function checkBody(body) {
  must(isObject(body), 'We could not parse the JSON body of your request.');
  onlyMembers(body, BODY_MEMBERS, 'body');
  must(isText(body.model), "Missing required parameter: 'model'.");
  checkInput(body.input, body.model);
  if (body.instructions !== undefined) must(typeof body.instructions === 'string', "Invalid type for 'instructions'.");
  if (body.tools !== undefined) checkTools(body.tools);
  checkReasoningMember(body);
  for (const name of ['temperature', 'top_p']) must(body[name] === undefined || !reasons(body.model), `Unsupported parameter: '${name}' is not supported with this model.`);
  for (const name of body.include ?? []) must(name === 'reasoning.encrypted_content', `Invalid value: '${name}'.`);
  must(body.include === undefined || reasons(body.model), 'Encrypted content is not supported with this model.');
  must(body.stream === undefined || typeof body.stream === 'boolean', "Invalid type for 'stream'.");
  must(body.max_output_tokens === undefined || body.max_output_tokens >= 16, "Invalid 'max_output_tokens': integer below minimum value.");
}

/** The reason to refuse the request, or null. */
export function refusalOf(request) {
  try {
    must(request.method === 'POST', `method ${request.method}`);
    must((request.headers['content-type'] ?? '').startsWith('application/json'), 'content-type is no JSON');
    checkBody(request.body);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
