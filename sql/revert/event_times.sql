-- Revert deft:event_times from pg
BEGIN;

-- Times that differ are right for what came before, too.

COMMIT;
