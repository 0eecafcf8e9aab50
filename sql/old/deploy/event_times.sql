-- Deploy deft:event_times to pg
BEGIN;

-- Writers wait, so that nothing comes in behind what is read here.
LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE;

-- The times of a conversation's events grow strictly with seq. Events that were written in one batch had one
-- time, and a client that pages by time lost those at a page's border. Each of them goes as many microseconds
-- on as it takes to be after the one before it. The body is what clients read: its head, {"id":"…","timestamp":"…",
-- is as long for all. What is not in the form that deft writes is left as it is.
WITH stamped AS (
    SELECT conversation_id, seq, timestamp AS old,
           to_char(timestamp 'epoch' + interval '1 microsecond'
                   * (seq + max((extract(epoch FROM timestamp::timestamp) * 1000000)::bigint - seq)
                      OVER (PARTITION BY conversation_id ORDER BY seq)),
                   'YYYY-MM-DD"T"HH24:MI:SS.US') AS new
      FROM events
     WHERE timestamp ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$'
)
UPDATE events e
   SET timestamp = s.new,
       body = overlay(e.body PLACING s.new FROM position('"timestamp":"' IN e.body) + length('"timestamp":"') FOR length(s.old))
  FROM stamped s
 WHERE e.conversation_id = s.conversation_id AND e.seq = s.seq AND s.new <> s.old
   AND e.body LIKE '{"id":"____________________________________","timestamp":"' || s.old || '"%';

COMMIT;
