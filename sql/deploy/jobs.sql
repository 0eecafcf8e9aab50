-- Deploy deft_schema:jobs to pg
BEGIN;

-- Work in addition to runs: titles, side questions, condensation, judgements of goals. Claimed one at a
-- time, in index order. A job with a waiting client leaves its result, which is deleted once it is read
-- or too old.
CREATE TABLE IF NOT EXISTS jobs (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind             text NOT NULL CHECK (kind IN ('title', 'ask', 'condense', 'goal', 'worktree')),
    conversation_id  uuid,
    payload          jsonb NOT NULL DEFAULT '{}',
    due_at           timestamptz NOT NULL DEFAULT now(),
    attempts         integer NOT NULL DEFAULT 0,
    lease_owner      uuid,
    lease_expires_at timestamptz,
    last_error       text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    key              uuid NOT NULL DEFAULT gen_random_uuid(), -- by which the client finds the result
    result           text, -- JSON
    done_at          timestamptz
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX IF NOT EXISTS jobs_key ON jobs (key);
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (due_at, id) WHERE done_at IS NULL;
CREATE INDEX IF NOT EXISTS jobs_done ON jobs (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS jobs_conversation ON jobs (conversation_id);

COMMIT;
