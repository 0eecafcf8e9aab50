-- Deploy deft:state_lists to pg
BEGIN;

-- The last of the old steps: makes the schema equal to sql/deploy. May run twice.
ALTER TABLE conversations
    DROP CONSTRAINT IF EXISTS conversations_execution_status_check,
    ADD CONSTRAINT conversations_execution_status_check
        CHECK (execution_status IN ('idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck'));
ALTER TABLE jobs
    DROP CONSTRAINT IF EXISTS jobs_kind_check,
    ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('title', 'ask', 'condense', 'goal', 'worktree'));

COMMIT;
