-- Deploy deft:job_results to pg
BEGIN;

-- A job that somebody waits for leaves its result; the row goes when it was read, or is too old.
ALTER TABLE jobs
    ADD COLUMN IF NOT EXISTS key     uuid NOT NULL DEFAULT gen_random_uuid(), -- how its asker finds it
    ADD COLUMN IF NOT EXISTS result  text,                                    -- JSON
    ADD COLUMN IF NOT EXISTS done_at timestamptz;
CREATE UNIQUE INDEX IF NOT EXISTS jobs_key ON jobs (key);
DROP INDEX IF EXISTS jobs_due;
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (due_at, id) WHERE done_at IS NULL;
CREATE INDEX IF NOT EXISTS jobs_done ON jobs (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS jobs_conversation ON jobs (conversation_id);

COMMIT;
