-- Verify deft:event_times on pg
BEGIN;

SELECT 1 / (count(*) = 0)::int
  FROM (SELECT timestamp <= lag(timestamp) OVER (PARTITION BY conversation_id ORDER BY seq) AS falls,
               timestamp ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$' AS is_ours
          FROM events) e
 WHERE falls AND is_ours;

ROLLBACK;
