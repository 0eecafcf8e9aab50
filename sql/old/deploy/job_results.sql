-- Deploy deft:job_results to pg
BEGIN;

-- A job that somebody waits for leaves its result; the row goes when it was read, or is too old.
ALTER TABLE jobs
    ADD COLUMN key     uuid NOT NULL DEFAULT gen_random_uuid(), -- how its asker finds it
    ADD COLUMN result  text,                                    -- JSON
    ADD COLUMN done_at timestamptz;
CREATE UNIQUE INDEX jobs_key ON jobs (key);
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (due_at, id) WHERE done_at IS NULL;
CREATE INDEX jobs_done ON jobs (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX jobs_conversation ON jobs (conversation_id);

COMMIT;
