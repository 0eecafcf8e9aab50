-- Deploy deft:jobs to pg
BEGIN;

-- Work that is not a conversation: titles, clean-up, posts. Claimed in index order, twenty at a time.
CREATE TABLE IF NOT EXISTS jobs (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind             text NOT NULL,
    conversation_id  uuid,
    payload          jsonb NOT NULL DEFAULT '{}',
    due_at           timestamptz NOT NULL DEFAULT now(),
    attempts         integer NOT NULL DEFAULT 0,
    lease_owner      uuid,
    lease_expires_at timestamptz,
    last_error       text,
    created_at       timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (due_at, id);

COMMIT;
