-- Revert deft:runtime_rest from pg
BEGIN;
DROP INDEX runtimes_status_since;
ALTER TABLE runtimes DROP COLUMN since;
COMMIT;
