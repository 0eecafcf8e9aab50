-- Revert deft:jobs from pg
BEGIN;
DROP TABLE jobs;
COMMIT;
