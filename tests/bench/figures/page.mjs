// A page of 20 events of 1 KB through nginx, against a bare FastCGI handler behind the same nginx.
import { againstBare } from '../bare.mjs';
import { api, conversationBody, psql } from '../support.mjs';

async function conversationWithEvents() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
  const stamp = `'2026-01-15T10:30:00.' || lpad(n::text, 6, '0')`;
  await psql(`INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
    SELECT '${id}', n, i, 'PauseEvent', 'user', ${stamp},
      json_build_object('id', i, 'timestamp', ${stamp}, 'source', 'user', 'kind', 'PauseEvent', 'filler', repeat('x', 880))::text
    FROM (SELECT n, gen_random_uuid() AS i FROM generate_series(1, 100) n) numbered`);
  return id;
}

export async function page() {
  const id = await conversationWithEvents();
  const path = `/api/conversations/${id}/events/search`;
  const { value, baseline } = await againstBare({ kind: 'events', id, path, query: 'limit=20', connections: 16 });
  return [{ figure: 'page_of_20_events', value, unit: 'x bare', baseline, goal: '>= 0.7', ok: value >= 0.7 }];
}
