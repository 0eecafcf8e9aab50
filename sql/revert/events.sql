-- Revert deft_schema:events from pg
BEGIN;
DROP TABLE events;
COMMIT;
