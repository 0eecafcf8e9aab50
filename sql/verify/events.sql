-- Verify deft_schema:events on pg
SELECT conversation_id, seq, id, kind, source, timestamp, result_of, fence, body FROM events WHERE
       false;
SELECT 1 / (count(*) = 8)::int FROM pg_inherits WHERE inhparent = 'events'::regclass;
SELECT 1 / count(*)::int FROM pg_indexes WHERE indexname = 'events_result';
