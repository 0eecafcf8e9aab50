// What a worker takes for a step, and from a message to the model's request, in a conversation of 10,000 events against
// one of 100: all but the time of the model, which answers at once with a call that the worker itself executes. The long
// log has a condensation every 180 events, as a condenser leaves it.
import { callOf, DONE, startModelServer } from '../model_server.mjs';
import { api, conversationBody, median, message, percentile, psql } from '../support.mjs';

const SHORT = 100;
const LONG = 10000;
const ROUNDS = 12;
const STEPS = 20;
const BLOCK = 180; // events from one condensation to the next
const TAIL = 90; // of them, those that stay in the view

// Answers requests with STEPS calls and then with text; keeps the moments of requests and answers.
async function startModel() {
  const model = { requests: [], answers: [] };
  let n = 0;
  const messageFor = (text, at) => {
    model.requests.push(at);
    return model.requests.length > model.n_steps ? DONE : callOf(`call_${++n}`, 'think', { thought: 'on' });
  };
  const server = await startModelServer('history', messageFor, () => model.answers.push(performance.now()));
  return Object.assign(model, server);
}

// Asks for the row: a socket would have the whole log replayed.
async function ask(model, id, nSteps) {
  Object.assign(model, { requests: [], answers: [], n_steps: nSteps });
  const began = performance.now();
  await api('POST', `/api/conversations/${id}/events`, message('go'));
  for (;;) {
    const { execution_status } = await api('GET', `/api/conversations/${id}`);
    if (execution_status === 'finished' && model.answers.length === nSteps + 1) break;
    if (execution_status === 'error') throw new Error(`the run of ${id} failed`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { claim: model.requests[0] - began, steps: model.requests.slice(1).map((at, i) => at - model.answers[i]) };
}

// Rounds of call, result and cost, 180 a block; the last event of a block forgets what the block before left.
const EVENTS = (id, n) => `
  WITH base AS (SELECT max(seq) AS seq FROM events WHERE conversation_id = '${id}'),
  numbered AS (SELECT k, gen_random_uuid() AS i, (k - 1) % 3 AS m, (SELECT seq FROM base) + k AS seq,
      to_char(now() AT TIME ZONE 'UTC' + k * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US') AS at FROM generate_series(1, ${n}) k),
  rounds AS (SELECT *, lag(i) OVER (ORDER BY k) AS before FROM numbered)
  INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)
  SELECT '${id}', seq, i, kind, source, at, CASE WHEN m = 1 THEN before END,
      (jsonb_build_object('id', i, 'timestamp', at, 'source', source, 'kind', kind) || more)::text
    FROM (SELECT *, (ARRAY['ActionEvent', 'ObservationEvent', 'ConversationStateUpdateEvent'])[m + 1] AS kind,
        CASE m WHEN 0 THEN 'agent' ELSE 'environment' END AS source, CASE m
          WHEN 0 THEN jsonb_build_object('thought', '[]'::jsonb, 'tool_name', 'think', 'tool_call_id', 'old_' || k, 'llm_response_id', 'old-' || k, 'action', '{"kind": "ThinkAction", "thought": "on"}'::jsonb,
            'tool_call', jsonb_build_object('id', 'old_' || k, 'name', 'think', 'arguments', '{"thought": "on"}', 'origin', 'completion'))
          WHEN 1 THEN jsonb_build_object('tool_name', 'think', 'tool_call_id', 'old_' || k - 1, 'action_id', before, 'observation', jsonb_build_object('kind', 'ThinkObservation', 'is_error', false, 'content', jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('x', 800)))))
          ELSE jsonb_build_object('key', 'stats', 'value', jsonb_build_object('x', repeat('y', 300))) END AS more FROM rounds) whole`;

const CONDENSATIONS = (id) => `
  WITH base AS (SELECT min(seq) - 1 AS seq FROM events WHERE conversation_id = '${id}' AND body LIKE '%"old_%'),
  blocks AS (SELECT e.seq, e.id, lag(e.id) OVER w AS before, lag(e.seq) OVER w AS since FROM events e, base b
    WHERE e.conversation_id = '${id}' AND e.seq > b.seq AND (e.seq - b.seq) % ${BLOCK} = 0 WINDOW w AS (ORDER BY e.seq))
  UPDATE events e SET kind = 'Condensation', body = jsonb_build_object('id', e.id, 'timestamp', e.timestamp, 'source', 'environment', 'kind', 'Condensation', 'summary', 'they went on', 'summary_offset', 2,
      'llm_response_id', 'summary-' || e.seq, 'forgotten_event_ids', (SELECT jsonb_agg(f.id) FROM events f, base b WHERE f.conversation_id = '${id}' AND f.kind <> 'ConversationStateUpdateEvent'
        AND f.seq > coalesce(x.since - ${TAIL}, b.seq) AND f.seq <= x.seq - ${TAIL}) || CASE WHEN x.before IS NULL THEN '[]' ELSE jsonb_build_array(x.before || '-summary') END)::text
    FROM blocks x WHERE e.conversation_id = '${id}' AND e.seq = x.seq`;

async function conversationOf(model, n) {
  const llm = { model: 'openai/history', base_url: model.url, api_key: 'sk-test', stream: false };
  const { id } = await api('POST', '/api/conversations', conversationBody(llm, { stuck_detection: false }));
  await ask(model, id, 0);
  await psql(EVENTS(id, n));
  if (n > BLOCK) await psql(CONDENSATIONS(id));
  await psql('ANALYZE events');
  // The first claim finds no stored view.
  await ask(model, id, 1);
  return id;
}

export async function history() {
  const model = await startModel();
  const sizes = [SHORT, LONG];
  const found = sizes.map(() => ({ claims: [], steps: [] }));
  const ids = [];
  try {
    for (const n of sizes) ids.push(await conversationOf(model, n));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, id] of ids.entries()) {
        const { claim, steps } = await ask(model, id, STEPS);
        found[i].claims.push(claim);
        found[i].steps.push(...steps);
      }
    }
    const [short, long] = found;
    const steps = [short, long].map(({ steps }) => percentile(steps, 99));
    const ratio = median(long.steps) / median(short.steps);
    const claims = median(long.claims) / median(short.claims);
    return [
      { figure: `step_overhead_${SHORT}_p99`, value: steps[0], unit: 'ms', baseline: median(short.steps), goal: '<= 10', ok: steps[0] <= 10 },
      { figure: `step_overhead_${LONG}_p99`, value: steps[1], unit: 'ms', baseline: median(long.steps), goal: '<= 12', ok: steps[1] <= 12 },
      { figure: `step_overhead_${LONG}`, value: ratio, unit: `x ${SHORT}`, baseline: median(short.steps), goal: '<= 1.2', ok: ratio <= 1.2 },
      { figure: `message_to_request_${LONG}`, value: claims, unit: `x ${SHORT}`, baseline: median(short.claims), goal: '<= 1.5', ok: claims <= 1.5 },
    ];
  } finally {
    for (const id of ids) await api('DELETE', `/api/conversations/${id}`).catch(() => {});
    model.close();
  }
}
