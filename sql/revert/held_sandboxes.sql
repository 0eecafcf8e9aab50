-- Revert deft:held_sandboxes from pg
BEGIN;

ALTER TABLE runtimes DROP COLUMN is_held;

COMMIT;
