-- Revert deft:runtimes from pg
BEGIN;
DROP TABLE runtimes;
COMMIT;
