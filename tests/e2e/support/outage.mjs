// Runs that wait for a model whose server is out of order. Minutes are not waited for: the row of the outage is made older.
import { execute } from './database.mjs';
import { waitUntil } from './wait.mjs';

/** What a client says that leaves retries to the server. */
export const DEFAULT_RETRIES = { num_retries: undefined, retry_multiplier: undefined, retry_min_wait: undefined, retry_max_wait: undefined };
/** As many as there are before the first wait. */
export const ATTEMPTS = 5;
/** What the server asks for after the last of them: longer than a test takes. */
export const NEXT_S = 300;

/** The n-th refusal: retries wait hardly any time. */
export const down = (status = 503) => (n) => ({
  status, error: { message: 'nobody home' }, headers: n < ATTEMPTS ? { 'retry-after-ms': '1' } : { 'retry-after': String(NEXT_S) },
});

/** What the conversation says of its outage; undefined: it does not wait. */
export const outageOf = async (conversation) => (await conversation.info()).agent_state.model_outage;

/** Resolves with the outage when the run waits for the n-th time. */
export const waits = (conversation, n) => waitUntil(async (saw) => {
  const outage = saw(await outageOf(conversation));
  return outage?.waits === n && outage;
}, `${conversation.id} waits, number ${n}`);

/** Makes the next attempt due, in an outage that began so much earlier. */
export const age = (conversation, interval = '0') => execute(`UPDATE model_outages SET next_at = now(), began_at = began_at - :'interval'::interval
  WHERE conversation_id = :'id'`, { id: conversation.id, interval });
