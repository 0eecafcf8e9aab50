-- Revert deft:events from pg
BEGIN;
DROP TABLE events;
COMMIT;
