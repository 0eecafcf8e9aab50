-- Revert deft_schema:task_waits from pg
BEGIN;
-- One of several: the others are found by the calls when the run goes on.
UPDATE conversations c SET waits_for = (SELECT min(t.child_id::text)::uuid FROM task_waits t WHERE t.conversation_id = c.id);
ALTER TABLE conversations DROP COLUMN is_suspended;
DROP TABLE task_waits;
COMMIT;
