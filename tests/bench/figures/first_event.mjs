// POST of a conversation with its first message → the agent's first event at a client. Stored is
// earlier than seen, so this is an upper bound.
import { api, conversationBody, median, message, waitForEvent } from '../support.mjs';

const ROUNDS = 40;

async function once() {
  const began = performance.now();
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/answer' }, { initial_message: message('Hello') }));
  const seen = await waitForEvent(id, (event) => event.source === 'agent' && event.kind !== 'SystemPromptEvent');
  await api('DELETE', `/api/conversations/${id}`);
  return seen - began;
}

export async function firstEvent() {
  const times = [];
  await once();
  for (let i = 0; i < ROUNDS; i++) times.push(await once());
  const p50 = median(times);
  return [{ figure: 'post_to_first_event_p50', value: p50, unit: 'ms', baseline: null, goal: '<= 50', ok: p50 <= 50 }];
}
