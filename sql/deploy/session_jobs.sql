-- Deploy deft_schema:session_jobs to pg
BEGIN;

-- 'sessions' ends sessions at MCP servers, also of a conversation that is deleted by then.
ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_kind_check;
ALTER TABLE jobs
    ADD CONSTRAINT jobs_kind_check
        CHECK (kind IN ('title', 'ask', 'condense', 'goal', 'worktree', 'sessions'));

COMMIT;
