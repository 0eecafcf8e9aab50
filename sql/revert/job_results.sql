-- Revert deft:job_results from pg
BEGIN;
DELETE FROM jobs WHERE done_at IS NOT NULL;
DROP INDEX jobs_conversation;
DROP INDEX jobs_due;
ALTER TABLE jobs DROP COLUMN key, DROP COLUMN result, DROP COLUMN done_at;
CREATE INDEX jobs_due ON jobs (due_at, id);
COMMIT;
