-- Deploy deft:conversations to pg
BEGIN;

CREATE TABLE IF NOT EXISTS conversations (
    id                   uuid PRIMARY KEY,
    user_id              uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    parent_id            uuid REFERENCES conversations ON DELETE SET NULL,
    runtime_kind         text NOT NULL CHECK (runtime_kind IN ('local', 'docker')),
    runtime_session      text NOT NULL,
    title                text,
    spec                 text COMPRESSION lz4 NOT NULL, -- JSON: agent, workspace, policies, tags …; no secret
    secrets              text COMPRESSION lz4,          -- sealed JSON
    execution_status     text NOT NULL DEFAULT 'idle',
    stats                text COMPRESSION lz4 NOT NULL DEFAULT '{"usage_to_metrics":{}}',
    agent_state          text COMPRESSION lz4 NOT NULL DEFAULT '{}', -- JSON of the tools, such as the task list
    last_user_message_id uuid,
    snapshot_version     bigint NOT NULL DEFAULT 0,
    wanted_at            timestamptz,                   -- a run is asked for and not over
    stop_requested       text CHECK (stop_requested IN ('pause', 'interrupt')),
    lease_owner          uuid,
    lease_fence          bigint NOT NULL DEFAULT 0,
    lease_expires_at     timestamptz,
    claim_count          integer NOT NULL DEFAULT 0,    -- claims since the last progress
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT lease_is_whole CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL))
) WITH (fillfactor = 70); -- heartbeats and steps stay on the row's page
CREATE INDEX IF NOT EXISTS conversations_wanted ON conversations (wanted_at) WHERE wanted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS conversations_user_created ON conversations (user_id, created_at DESC, id);
CREATE INDEX IF NOT EXISTS conversations_user_updated ON conversations (user_id, updated_at DESC, id);
CREATE INDEX IF NOT EXISTS conversations_session ON conversations (runtime_session);
CREATE INDEX IF NOT EXISTS conversations_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;

COMMIT;
