// Checks of a strict provider of OpenAI's Chat Completions, and a few more: the fake
// server applies them to every request, so that a test cannot pass with a request that a model would refuse.

const BODY_MEMBERS = new Set([
  'model', 'messages', 'tools', 'temperature', 'top_p', 'seed', 'stop', 'stream', 'stream_options',
  'max_completion_tokens', 'max_tokens', 'reasoning_effort', 'prompt_cache_key',
  'prompt_cache_retention', 'metadata',
]);
const MESSAGE_MEMBERS = {
  system: new Set(['role', 'content']),
  user: new Set(['role', 'content']),
  assistant: new Set(['role', 'content', 'tool_calls']),
  tool: new Set(['role', 'content', 'tool_call_id', 'name']),
};
const SCHEMA_MEMBERS = new Set([
  'type', 'description', 'properties', 'required', 'items', 'enum', 'default', 'minimum', 'maximum',
  'minItems', 'maxItems', 'minLength', 'maxLength', 'anyOf', 'additionalProperties', 'format', 'title', 'pattern',
  'exclusiveMinimum', 'exclusiveMaximum', 'const',
]);
const SCHEMA_TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

class Refusal extends Error {}

function must(condition, message) {
  if (!condition) throw new Refusal(message);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.length > 0;

function onlyMembers(object, allowed, where) {
  for (const key of Object.keys(object)) must(allowed.has(key), `${where} has unknown member ${key}`);
}

function checkPart(part, role, where) {
  must(isObject(part), `${where} is no object`);
  if (part.type === 'text') {
    onlyMembers(part, new Set(['type', 'text']), where);
    must(typeof part.text === 'string', `${where}.text is no text`);
    must(part.text.trim() !== '', `${where}.text is blank`);
    return;
  }
  must(part.type === 'image_url', `${where}.type is ${part.type}`);
  must(role === 'user' || role === 'tool', `${where}: an image in a ${role} message`);
  onlyMembers(part, new Set(['type', 'image_url']), where);
  must(isObject(part.image_url) && isText(part.image_url.url), `${where} has no image_url.url`);
}

function checkContent(message, where) {
  const { role, content } = message;
  if (content === undefined || content === null) {
    must(role === 'assistant' && message.tool_calls?.length > 0, `${where} has no content`);
    return;
  }
  if (typeof content === 'string') {
    must(role === 'assistant' || content !== '', `${where}.content is empty`);
    return;
  }
  must(Array.isArray(content), `${where}.content is neither text nor list`);
  must(content.length > 0, `${where}.content is an empty list`);
  content.forEach((part, i) => checkPart(part, role, `${where}.content[${i}]`));
}

function checkCall(call, seenIds, where) {
  must(isObject(call), `${where} is no object`);
  onlyMembers(call, new Set(['id', 'type', 'function']), where);
  must(isText(call.id), `${where} has no id`);
  must(!seenIds.has(call.id), `${where}.id ${call.id} was used before`);
  seenIds.add(call.id);
  must(call.type === 'function', `${where}.type is no function`);
  must(isObject(call.function), `${where}.function is missing`);
  onlyMembers(call.function, new Set(['name', 'arguments']), `${where}.function`);
  must(NAME.test(call.function.name), `${where}.function.name is bad`);
  must(typeof call.function.arguments === 'string', `${where}.function.arguments is no text`);
  let parsed;
  try {
    parsed = JSON.parse(call.function.arguments);
  } catch {
    throw new Refusal(`failed to parse tool call arguments as json: ${where}`);
  }
  must(isObject(parsed), `${where}.function.arguments is no object`);
}

// Calls and their results: all results of a message's calls follow it at once, in the calls' order.
function checkMessages(messages) {
  let owed = [];
  const seenIds = new Set();
  must(Array.isArray(messages) && messages.length > 0, 'messages is no list with entries');
  messages.forEach((message, i) => {
    const where = `messages[${i}]`;
    must(isObject(message), `${where} is no object`);
    const allowed = MESSAGE_MEMBERS[message.role];
    must(allowed !== undefined, `${where}.role is ${message.role}`);
    onlyMembers(message, allowed, where);
    must(message.role !== 'system' || i === 0, `${where}: a system message that is not the first`);
    checkContent(message, where);
    if (message.role === 'tool') {
      must(owed.length > 0,
        `${where}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'`);
      must(message.tool_call_id === owed[0],
        `${where}.tool_call_id is ${message.tool_call_id}, the next call is ${owed[0]}`);
      must(message.name === undefined || isText(message.name), `${where}.name is bad`);
      owed = owed.slice(1);
      return;
    }
    must(owed.length === 0,
      `${where}: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'`);
    if (message.role !== 'assistant' || message.tool_calls === undefined) return;
    must(Array.isArray(message.tool_calls) && message.tool_calls.length > 0, `${where}.tool_calls is bad`);
    message.tool_calls.forEach((call, n) => checkCall(call, seenIds, `${where}.tool_calls[${n}]`));
    owed = message.tool_calls.map((call) => call.id);
  });
  must(owed.length === 0, `the calls ${owed} have no results`);
  must(messages.at(-1).role !== 'assistant', 'the last message is the assistant\'s own');
}

function checkSchema(schema, where) {
  must(isObject(schema), `${where} is no schema`);
  onlyMembers(schema, SCHEMA_MEMBERS, where);
  must(schema.anyOf !== undefined || SCHEMA_TYPES.has(schema.type), `${where}.type is ${schema.type}`);
  must(schema.enum === undefined || (Array.isArray(schema.enum) && schema.enum.length > 0), `${where}.enum is bad`);
  if (schema.type === 'array') checkSchema(schema.items, `${where}.items`);
  for (const [i, choice] of (schema.anyOf ?? []).entries()) checkSchema(choice, `${where}.anyOf[${i}]`);
  if (schema.type !== 'object') return;
  const properties = schema.properties ?? {};
  must(isObject(properties), `${where}.properties is bad`);
  for (const name of schema.required ?? []) must(name in properties, `${where}.required: no property ${name}`);
  for (const [name, property] of Object.entries(properties)) checkSchema(property, `${where}.${name}`);
}

function checkTools(tools) {
  const names = new Set();
  must(Array.isArray(tools) && tools.length > 0, 'tools is no list with entries');
  tools.forEach((tool, i) => {
    const where = `tools[${i}]`;
    must(isObject(tool) && tool.type === 'function' && isObject(tool.function), `${where} is no function`);
    onlyMembers(tool, new Set(['type', 'function']), where);
    onlyMembers(tool.function, new Set(['name', 'description', 'parameters', 'strict']), where);
    must(NAME.test(tool.function.name), `${where}.function.name is bad`);
    must(!names.has(tool.function.name), `${where}: duplicate tool names`);
    names.add(tool.function.name);
    must(isText(tool.function.description), `${where} has no description`);
    must(tool.function.parameters?.type === 'object', `${where}.parameters is no object schema`);
    checkSchema(tool.function.parameters, `${where}.parameters`);
  });
}

function checkNumber(body, name, low, high) {
  const value = body[name];
  if (value === undefined) return;
  must(typeof value === 'number' && value >= low && value <= high, `${name} is ${value}`);
}

function checkBody(body) {
  must(isObject(body), 'the body is no object');
  onlyMembers(body, BODY_MEMBERS, 'the body');
  must(isText(body.model), 'model is missing');
  checkMessages(body.messages);
  if (body.tools !== undefined) checkTools(body.tools);
  checkNumber(body, 'temperature', 0, 2);
  checkNumber(body, 'top_p', 0, 1);
  checkNumber(body, 'max_completion_tokens', 1, 1e7);
  checkNumber(body, 'max_tokens', 1, 1e7);
  must(body.stream === undefined || typeof body.stream === 'boolean', 'stream is no boolean');
  must(body.stream_options === undefined || body.stream === true, 'stream_options without stream');
  must(body.reasoning_effort === undefined || EFFORTS.has(body.reasoning_effort), 'reasoning_effort is bad');
  must(body.prompt_cache_key === undefined || isText(body.prompt_cache_key), 'prompt_cache_key is bad');
}

// The reason to refuse the request, or null.
export function refusalOf(request) {
  try {
    must(request.method === 'POST', `method ${request.method}`);
    must((request.headers['content-type'] ?? '').startsWith('application/json'), 'content-type is no JSON');
    must(request.headers.expect === undefined, 'an Expect header');
    checkBody(request.body);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
