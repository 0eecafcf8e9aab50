// Events through the store's own code, 16 writers, against bare one-row inserts.
import { env, program, run } from '../support.mjs';

const SECONDS_PER_ROUND = 4;

export async function append() {
  const { stdout } = await run(program('append'), [env('DEFT_TEST_DATABASE_URL'), String(SECONDS_PER_ROUND)]);
  const { bare, one, four } = JSON.parse(stdout);
  const line = (figure, value, goal) => ({ figure, value: value / bare, unit: 'x bare', baseline: bare, goal: `>= ${goal}`, ok: value / bare >= goal });
  return [line('append_one_event_a_call', one, 0.75), line('append_four_events_a_call', four, 1.1)];
}
