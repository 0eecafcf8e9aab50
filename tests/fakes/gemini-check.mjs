// Checks of Gemini's native API: the fake server applies them to every request, so that a test cannot pass with a
// request that the vendor would refuse. Messages are the vendor's where clients look for words in them. Stricter than
// the vendor: the model never speaks twice in a row, every call of the history is signed and not only those of the
// last turn, ids of calls are unique, and images have a type.
import { createHash } from 'node:crypto';

const BODY_MEMBERS = ['contents', 'tools', 'toolConfig', 'safetySettings', 'systemInstruction', 'generationConfig', 'cachedContent', 'store', 'serviceTier', 'continuationToken'];
const CONFIG_MEMBERS = [
  'temperature', 'topP', 'topK', 'seed', 'maxOutputTokens', 'stopSequences', 'candidateCount', 'thinkingConfig', 'presencePenalty',
  'frequencyPenalty', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseModalities', 'mediaResolution',
];
const SCHEMA_MEMBERS = [
  'type', 'format', 'title', 'description', 'nullable', 'enum', 'maxItems', 'minItems', 'properties', 'required', 'minProperties',
  'maxProperties', 'minLength', 'maxLength', 'pattern', 'example', 'anyOf', 'propertyOrdering', 'default', 'items', 'minimum', 'maximum',
];
const KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'];
const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
const FORMATS = { STRING: ['enum', 'date-time'], NUMBER: ['float', 'double'], INTEGER: ['int32', 'int64'] };
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'];
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
const STOP_SEQUENCES_MAX = 5;
const DEPTH_MAX = 32;
/** What stands in place of a signature of a call that another model made. */
export const FOREIGN = 'skip_thought_signature_validator';

class Refusal extends Error {}

function must(condition, message) {
  if (!condition) throw new Refusal(message);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === 'string' && value.length > 0;

function onlyMembers(object, allowed, where) {
  must(isObject(object), `Invalid value at '${where}'`);
  for (const key of Object.keys(object))
    must(allowed.includes(key), `Invalid JSON payload received. Unknown name "${key}" at '${where}': Cannot find field.`);
}

// --- models ---

const generationOf = (model) => Number(/^gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 99);

/** Models that sign their calls, and refuse those of their history that are not. */
export const signs = (model) => generationOf(model) >= 3;

/** The budgets of a model: least, most, and whether it may not think at all; or undefined. */
function budgetsOf(model) {
  if (model.startsWith('gemini-2.5-pro')) return [128, 32768, false];
  return model.startsWith('gemini-2.5') ? [512, 24576, true] : undefined;
}

function levelsOf(model) {
  if (model.startsWith('gemini-3-pro')) return ['LOW', 'HIGH'];
  const levels = ['LOW', 'MEDIUM', 'HIGH'];
  return /^gemini-3(\.[156])?-flash/.test(model) ? ['MINIMAL', ...levels] : levels;
}

export const thinks = (model) => generationOf(model) >= 2.5;

/** What a model signs a thought with; another model's is refused. */
export const signatureOf = (model, n) =>
  Buffer.from(`${model} ${createHash('sha256').update(`${model} ${n}`).digest('hex')}`).toString('base64');

const madeBy = (signature) => Buffer.from(signature, 'base64').toString().split(' ')[0];

function checkSignature(signature, model, where) {
  if (signature === undefined || signature === FOREIGN) return;
  must(isText(signature) && /^[A-Za-z0-9+/_-]+={0,2}$/.test(signature), `Invalid value at '${where}.thought_signature' (TYPE_BYTES)`);
  must(madeBy(signature) === model, 'Corrupted thought signature.');
}

// --- contents ---

function checkBlob(blob, where) {
  onlyMembers(blob, ['mimeType', 'data'], where);
  must(IMAGE_TYPES.includes(blob.mimeType), `Unsupported MIME type: ${blob.mimeType}`);
  must(isText(blob.data) && Buffer.from(blob.data, 'base64').toString('base64') === blob.data, `Invalid value at '${where}.data' (TYPE_BYTES), Base64 decoding failed`);
}

function checkFile(file, where) {
  onlyMembers(file, ['mimeType', 'fileUri'], where);
  must(/^https:\/\//.test(file.fileUri), `Invalid file URI: ${file.fileUri}`);
  must(file.mimeType === undefined || IMAGE_TYPES.includes(file.mimeType), `Unsupported MIME type: ${file.mimeType}`);
}

function checkMedia(part, where) {
  if (part.inlineData !== undefined) checkBlob(part.inlineData, `${where}.inline_data`);
  if (part.fileData !== undefined) checkFile(part.fileData, `${where}.file_data`);
}

function checkCall(call, where) {
  onlyMembers(call, ['id', 'name', 'args'], where);
  must(NAME.test(call.name), `${where}.name: Invalid function name. Must start with a letter or an underscore.`);
  must(call.args === undefined || isObject(call.args), `Invalid value at '${where}.args'`);
}

function checkResponse(response, model, where) {
  onlyMembers(response, ['id', 'name', 'response', 'parts'], where);
  must(NAME.test(response.name), `${where}.name: Name cannot be empty.`);
  must(isObject(response.response), `Invalid value at '${where}.response'`);
  for (const [i, part] of (response.parts ?? []).entries()) {
    must(signs(model), 'Multimodal function responses are not supported by this model.');
    onlyMembers(part, ['inlineData', 'fileData'], `${where}.parts[${i}]`);
    checkMedia(part, `${where}.parts[${i}]`);
  }
}

function checkPart(part, role, model, where) {
  onlyMembers(part, [...KINDS, 'thought', 'thoughtSignature'], where);
  const kinds = KINDS.filter((kind) => part[kind] !== undefined);
  must(kinds.length === 1, `${where}.data: required oneof field 'data' must have one initialized field`);
  if (kinds[0] === 'text') must(isText(part.text) && part.text.trim() !== '', 'Unable to submit request because it has an empty text parameter.');
  must(role === 'model' ? ['text', 'functionCall'].includes(kinds[0]) : kinds[0] !== 'functionCall', `${where}: ${kinds[0]} is not of the ${role}`);
  checkMedia(part, where);
  if (part.functionCall !== undefined) checkCall(part.functionCall, `${where}.function_call`);
  if (part.functionResponse !== undefined) checkResponse(part.functionResponse, model, `${where}.function_response`);
  must(part.thoughtSignature === undefined || role === 'model', `${where}: a signature of the user`);
  checkSignature(part.thoughtSignature, model, where);
}

const callsOf = (content) => (content?.parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
const resultsOf = (content) => (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);

// The first call of each answer is signed.
function checkSigned(content, model) {
  const at = content.parts.findIndex(({ functionCall }) => functionCall !== undefined);
  must(at < 0 || !signs(model) || content.parts[at].thoughtSignature !== undefined,
    `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${content.parts[at]?.functionCall.name}\`, position ${at + 1}.`);
}

// All results of an answer's calls are in the next content, in their order, and nothing else is.
function checkResults(content, before) {
  const calls = callsOf(before);
  const results = resultsOf(content);
  if (calls.length === 0 && results.length === 0) return;
  must(calls.length > 0, 'Please ensure that function response turn comes immediately after a function call turn.');
  must(results.length === calls.length, 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.');
  must(content.parts.length === results.length, 'Requests ending with a model turn are not supported.');
  calls.forEach(({ id, name }, i) => must(results[i].name === name && results[i].id === id, `function response ${i} does not match its call`));
}

function checkContents(contents, model) {
  const seen = new Set();
  must(Array.isArray(contents) && contents.length > 0, '* GenerateContentRequest.contents: contents is not specified');
  contents.forEach((content, i) => {
    const where = `contents[${i}]`;
    onlyMembers(content, ['role', 'parts'], where);
    must(['user', 'model'].includes(content.role), 'Please use a valid role: user, model.');
    must(Array.isArray(content.parts) && content.parts.length > 0, 'Unable to submit request because it must include at least one parts field, which describes the prompt input.');
    content.parts.forEach((part, n) => checkPart(part, content.role, model, `${where}.parts[${n}]`));
    if (content.role === 'model') {
      must(i > 0 && contents[i - 1].role === 'user', 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.');
      checkSigned(content, model);
    }
    for (const { id } of callsOf(content)) {
      must(isText(id) && !seen.has(id), `${where}: ids of calls must be unique`);
      seen.add(id);
    }
    checkResults(content, contents[i - 1]);
  });
  must(contents.at(-1).role === 'user', 'Requests ending with a model turn are not supported.');
}

// --- tools ---

function checkTyped(schema, type, where) {
  must(TYPES.includes(type), `${where}.type: must be specified`);
  must(schema.format === undefined || (FORMATS[type] ?? []).includes(schema.format), `${where}.format: only '${FORMATS[type]}' are supported for ${type} type`);
  if (schema.enum !== undefined) {
    must(type === 'STRING', `${where}.enum: only allowed for STRING type`);
    must(schema.enum.length > 0 && schema.enum.every(isText), `${where}.enum[0]: cannot be empty`);
  }
  if (type === 'ARRAY') must(isObject(schema.items), `${where}.items: missing field.`);
  if (schema.properties !== undefined) must(Object.keys(schema.properties).length > 0, `${where}.properties: should be non-empty for OBJECT type`);
  for (const [i, name] of (schema.required ?? []).entries())
    must(Object.hasOwn(schema.properties ?? {}, name), `${where}.required[${i}]: property is not defined`);
}

/** Refuses what is no schema of the vendor's. */
export function checkSchema(schema, where, depth = 0) {
  must(depth < DEPTH_MAX, `${where}: too deep`);
  onlyMembers(schema, SCHEMA_MEMBERS, where);
  if (schema.anyOf === undefined) checkTyped(schema, schema.type, where);
  else must(Array.isArray(schema.anyOf) && schema.anyOf.length > 0 && schema.type === undefined, `${where}.any_of: must be the only type`);
  (schema.anyOf ?? []).forEach((one, i) => checkSchema(one, `${where}.any_of[${i}]`, depth + 1));
  for (const [name, one] of Object.entries(schema.properties ?? {})) checkSchema(one, `${where}.properties[${name}]`, depth + 1);
  if (schema.items !== undefined) checkSchema(schema.items, `${where}.items`, depth + 1);
}

function checkTools(tools) {
  const names = new Set();
  must(Array.isArray(tools), "Invalid value at 'tools'");
  tools.forEach((tool, i) => {
    onlyMembers(tool, ['functionDeclarations', 'googleSearch', 'codeExecution', 'urlContext'], `tools[${i}]`);
    (tool.functionDeclarations ?? []).forEach((declaration, n) => {
      const where = `tools[${i}].function_declarations[${n}]`;
      onlyMembers(declaration, ['name', 'description', 'parameters', 'parametersJsonSchema'], where);
      must(NAME.test(declaration.name), `${where}.name: Invalid function name. Must start with a letter or an underscore.`);
      must(!names.has(declaration.name), `Duplicate function declaration found: ${declaration.name}`);
      names.add(declaration.name);
      if (declaration.parameters === undefined) return;
      checkSchema(declaration.parameters, `${where}.parameters`);
      must(declaration.parameters.type === 'OBJECT' && declaration.parameters.properties !== undefined, `${where}.parameters.properties: should be non-empty for OBJECT type`);
    });
  });
}

// --- configuration ---

function checkThinking(thinking, model) {
  if (thinking === undefined) return;
  onlyMembers(thinking, ['includeThoughts', 'thinkingBudget', 'thinkingLevel'], 'generation_config.thinking_config');
  must(thinks(model), `Thinking is not enabled for models/${model}`);
  must(thinking.thinkingBudget === undefined || thinking.thinkingLevel === undefined, 'You can only set only one of thinking budget and thinking level.');
  if (thinking.thinkingLevel !== undefined) {
    must(signs(model), 'Thinking level is not supported for this model.');
    must(levelsOf(model).includes(thinking.thinkingLevel), `Thinking level ${thinking.thinkingLevel} is not supported for this model.`);
  }
  if (thinking.thinkingBudget === undefined || thinking.thinkingBudget === -1) return;
  const [least, most, mayNot] = budgetsOf(model) ?? [0, -1, false];
  must((thinking.thinkingBudget === 0 && mayNot) || (thinking.thinkingBudget >= least && thinking.thinkingBudget <= most),
    `The thinking budget ${thinking.thinkingBudget} is invalid. Please choose a value between ${least} and ${most}.`);
}

const within = (value, low, high) => value === undefined || (typeof value === 'number' && value >= low && value <= high);

function checkConfig(config, model) {
  if (config === undefined) return;
  onlyMembers(config, CONFIG_MEMBERS, 'generation_config');
  must(within(config.temperature, 0, 2), 'generation_config.temperature: must be in the range [0.0, 2.0]');
  must(within(config.topP, 0, 1), 'generation_config.top_p: must be in the range [0.0, 1.0]');
  must(within(config.topK, 1, 2 ** 31), 'generation_config.top_k: must be positive');
  must(within(config.maxOutputTokens, 1, 2 ** 31), 'generation_config.max_output_tokens: must be positive');
  must(config.seed === undefined || Number.isInteger(config.seed), "Invalid value at 'generation_config.seed' (TYPE_INT32)");
  must((config.stopSequences ?? []).length <= STOP_SEQUENCES_MAX, 'generation_config.stop_sequences: at most 5');
  checkThinking(config.thinkingConfig, model);
}

function checkSystem(system) {
  if (system === undefined) return;
  onlyMembers(system, ['role', 'parts'], 'system_instruction');
  must(Array.isArray(system.parts) && system.parts.length > 0, 'system_instruction: must include at least one parts field');
  system.parts.forEach((part, i) => {
    onlyMembers(part, ['text'], `system_instruction.parts[${i}]`);
    must(isText(part.text), `system_instruction.parts[${i}].text: must not be empty`);
  });
}

/** The model and the method of a path, or null. */
export function methodOf(path) {
  const found = /^\/v1(?:beta|alpha)?\/models\/([^/:?]+):(generateContent|streamGenerateContent)(?:\?(.*))?$/.exec(path);
  return found && { model: decodeURIComponent(found[1]), isStream: found[2] === 'streamGenerateContent', query: new URLSearchParams(found[3] ?? '') };
}

// The reason to refuse the request, or null.
export function refusalOf(request) {
  const { model, isStream, query } = methodOf(request.path);
  try {
    must(request.method === 'POST', `method ${request.method}`);
    must((request.headers['content-type'] ?? '').startsWith('application/json'), 'content-type is no JSON');
    must(request.headers.expect === undefined, 'an Expect header');
    must(!query.has('key'), 'the key is in the URL');
    must(!isStream || query.get('alt') === 'sse', 'a stream without alt=sse');
    onlyMembers(request.body, BODY_MEMBERS, 'body');
    checkContents(request.body.contents, model);
    checkSystem(request.body.systemInstruction);
    if (request.body.tools !== undefined) checkTools(request.body.tools);
    checkConfig(request.body.generationConfig, model);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
