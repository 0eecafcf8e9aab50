-- Revert deft_schema:jobs from pg
BEGIN;
DROP TABLE jobs;
COMMIT;
