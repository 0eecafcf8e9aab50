-- Deploy deft:state_lists to pg
BEGIN;

-- The last of the old steps: makes the schema equal to sql/deploy.
LOCK TABLE conversations, jobs IN ACCESS EXCLUSIVE MODE;

-- Rows that the lists refuse are named, up to twenty, and left as they are.
DO $$
DECLARE
    refused text;
BEGIN
    SELECT string_agg(line, E'\n') INTO refused FROM (
        SELECT format('conversations, id %s: execution_status %L', id, execution_status) AS line
          FROM conversations
         WHERE execution_status NOT IN
               ('idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck')
        UNION ALL
        SELECT format('jobs, id %s: kind %L', id, kind)
          FROM jobs
         WHERE kind NOT IN ('title', 'ask', 'condense', 'goal', 'worktree')
         LIMIT 20) lines;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'rows have states outside their lists; nothing is changed' USING
            DETAIL = refused,
            HINT = 'Correct or delete these rows, then deploy again.';
    END IF;
END
$$;

ALTER TABLE conversations
    DROP CONSTRAINT IF EXISTS conversations_execution_status_check,
    ADD CONSTRAINT conversations_execution_status_check
        CHECK (execution_status IN ('idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck'));
ALTER TABLE jobs
    DROP CONSTRAINT IF EXISTS jobs_kind_check,
    ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('title', 'ask', 'condense', 'goal', 'worktree'));

COMMIT;
