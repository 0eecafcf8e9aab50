-- Revert deft_schema:session_jobs from pg
BEGIN;

DELETE FROM jobs WHERE kind = 'sessions';
ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_kind_check;
ALTER TABLE jobs
    ADD CONSTRAINT jobs_kind_check
        CHECK (kind IN ('title', 'ask', 'condense', 'goal', 'worktree'));

COMMIT;
