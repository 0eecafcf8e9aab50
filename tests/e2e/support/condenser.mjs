// Conversations with a condenser, and a model for both.
import assert from 'node:assert/strict';
import { Conversation, llmOf, ofKind, startRequest } from './conversation.mjs';
import { strictModel } from './model.mjs';

const SIZE_MAX = 20;
export const KEEP_FIRST = 2;

export const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer in words' }]);
const wordsOf = (message) => [message.content].flat().map((part) => part?.text ?? part).join('');
export const textOf = ({ body }) => body.messages.map(wordsOf).join('\n');

/** A conversation whose model and condenser play these scenarios. */
export async function startCondensed(t, scenario, condenser, { pipeline = false, llm = {}, ...members } = {}) {
  const request = startRequest({ ...llmOf(fake, scenario), ...llm });
  const one = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, condenser), usage_id: 'condenser' }, max_size: SIZE_MAX, keep_first: KEEP_FIRST, ...members };
  request.agent.condenser = pipeline ? { kind: 'PipelineCondenser', condensers: [{ kind: 'NoOpCondenser' }, one] } : one;
  const conversation = await Conversation.create(request);
  t.after(() => conversation.delete());
  return conversation;
}

/** Sends word-first to word-last, each with an answer. */
export async function talk(conversation, first, last) {
  for (let n = first; n <= last; n++) assert.equal(await conversation.ask(`word-${n}.`), 'finished');
}

export const condensations = async (conversation) => (await conversation.events()).filter(ofKind('Condensation'));

/** The answer to a request that exceeds the context of the model. */
export const tooLong = { status: 400, error: { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'invalid_request_error' } };
