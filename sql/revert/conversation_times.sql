-- Revert deft:conversation_times from pg
BEGIN;

DROP INDEX conversations_updated;

COMMIT;
