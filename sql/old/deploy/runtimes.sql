-- Deploy deft:runtimes to pg
BEGIN;

-- One row per sandbox. `desired` is what somebody asked for, `status` what the engine shows; the
-- runtime service brings the second to the first.
CREATE TABLE IF NOT EXISTS runtimes (
    id               text PRIMARY KEY,
    session_id       text NOT NULL,
    owner_id         uuid REFERENCES users ON DELETE SET NULL,
    desired          text NOT NULL DEFAULT 'running'
                     CHECK (desired IN ('running', 'paused', 'stopped', 'deleted')),
    status           text NOT NULL DEFAULT 'starting'
                     CHECK (status IN ('starting', 'running', 'paused', 'stopped', 'error')),
    status_detail    text,
    image            text NOT NULL,
    spec             jsonb NOT NULL,
    backend          text NOT NULL DEFAULT 'docker',
    container_id     text,
    network          text,
    url              text,
    session_key      text NOT NULL,
    session_key_hash text NOT NULL UNIQUE,
    restart_count    integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    last_used_at     timestamptz NOT NULL DEFAULT now()
);
-- A session has one sandbox at a time; its history may hold stopped and failed ones.
CREATE UNIQUE INDEX IF NOT EXISTS runtimes_live_session ON runtimes (session_id)
    WHERE status IN ('starting', 'running', 'paused');
CREATE INDEX IF NOT EXISTS runtimes_session ON runtimes (session_id, created_at DESC);
CREATE INDEX IF NOT EXISTS runtimes_unsettled ON runtimes (updated_at)
    WHERE desired <> status;

COMMIT;
