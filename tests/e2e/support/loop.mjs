// Runs with a model that plays given steps, and their events in short.
import { randomUUID } from 'node:crypto';
import { Conversation, llmOf, startRequest } from './conversation.mjs';
import { strictModel } from './model.mjs';

export const fake = await strictModel();

const scenarios = new Map();

/** A conversation whose model plays these steps, or what a function of the request returns. */
export async function play(t, steps, { llm = {}, agent = {}, ...more } = {}) {
  const scenario = `steps-${randomUUID()}`;
  fake.setScenario(scenario, steps);
  const request = startRequest(llmOf(fake, scenario, llm), more);
  Object.assign(request.agent, agent);
  const conversation = await Conversation.create(request);
  scenarios.set(conversation.id, scenario);
  t.after(() => conversation.delete());
  return conversation;
}

/** The bodies of the requests to the conversation's model, in order. */
export const requestsOf = (conversation) => fake.requests.map(({ body }) => body).filter(({ model }) => model === scenarios.get(conversation.id));

/** The text of a message that was sent to the model. */
export const textOf = (message) => [message.content].flat().map((part) => part?.text ?? part).join('');

function kindOf({ kind, source, tool_name: tool, value }) {
  if (kind === 'ConversationStateUpdateEvent') return `S(${value})`;
  if (kind === 'MessageEvent') return `${kind} ${source}`;
  return tool === undefined || tool === null ? kind : `${kind} ${tool}`;
}

/** The events in short; of the changes of the state only those of the status: S(finished). */
export const kindsOf = (events) => events.filter(({ kind, key }) => kind !== 'ConversationStateUpdateEvent' || key === 'execution_status').map(kindOf);
