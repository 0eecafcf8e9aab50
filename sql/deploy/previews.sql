-- Deploy deft_schema:previews to pg
BEGIN;

-- Passes from the app origin to a preview: each is valid once, for a minute, for the browser that holds
-- the state, and ends with its session.
CREATE TABLE IF NOT EXISTS preview_passes (
    token_hash text PRIMARY KEY,
    state_hash text NOT NULL,
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    runtime_id text NOT NULL REFERENCES runtimes ON DELETE CASCADE,
    port       integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS preview_passes_expiry ON preview_passes (expires_at);

-- Cookies of preview origins: each is valid for one port of one sandbox.
CREATE TABLE IF NOT EXISTS preview_sessions (
    token_hash text PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    runtime_id text NOT NULL REFERENCES runtimes ON DELETE CASCADE,
    port       integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
    expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS preview_sessions_session ON preview_sessions (session_id);
CREATE INDEX IF NOT EXISTS preview_sessions_runtime ON preview_sessions (runtime_id);
CREATE INDEX IF NOT EXISTS preview_sessions_expiry ON preview_sessions (expires_at);

COMMIT;
