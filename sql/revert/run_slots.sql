-- Revert deft:run_slots from pg
BEGIN;
DROP INDEX conversations_user_wanted;
ALTER TABLE users DROP COLUMN run_slots, DROP COLUMN run_queue;
COMMIT;
