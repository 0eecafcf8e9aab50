-- Deploy deft_schema:conversations to pg
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
    execution_status     text NOT NULL DEFAULT 'idle'
                         CHECK (execution_status IN ('idle', 'running', 'paused', 'waiting_for_confirmation',
                                                     'finished', 'error', 'stuck')),
    stats                text COMPRESSION lz4 NOT NULL DEFAULT '{"usage_to_metrics":{}}',
    agent_state          text COMPRESSION lz4 NOT NULL DEFAULT '{}', -- JSON of the tools, such as the task list
    last_user_message_id uuid,
    snapshot_version     bigint NOT NULL DEFAULT 0,
    wanted_at            timestamptz,                   -- a run is requested and not over
    stop_requested       text CHECK (stop_requested IN ('pause', 'interrupt')),
    lease_owner          uuid,
    lease_fence          bigint NOT NULL DEFAULT 0,
    lease_expires_at     timestamptz,
    claim_count          integer NOT NULL DEFAULT 0,    -- claims since the last progress
    created_at           timestamptz NOT NULL DEFAULT now(),
    updated_at           timestamptz NOT NULL DEFAULT now(),
    is_sub_agent         boolean NOT NULL DEFAULT false, -- made by a call of its parent's agent; deleted with it
    waits_for            uuid,                          -- sub-agent whose run must end before this one goes on
    spec_info            text COMPRESSION lz4,          -- JSON: the part of ConversationInfo that depends on spec
    leaf_event_id        uuid,                          -- newest event that is not a state update; NULL: none
    is_leaf_known        boolean NOT NULL DEFAULT false, -- false while a worker has it: appends leave the row alone
    CONSTRAINT lease_is_whole CHECK ((lease_owner IS NULL) = (lease_expires_at IS NULL))
) WITH (fillfactor = 70); -- heartbeats and steps stay on the row's page
CREATE INDEX IF NOT EXISTS conversations_wanted ON conversations (wanted_at) WHERE wanted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS conversations_session ON conversations (runtime_session);
CREATE INDEX IF NOT EXISTS conversations_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS conversations_user_wanted ON conversations (user_id, wanted_at) WHERE wanted_at IS NOT NULL;
-- Each index has the whole order of its list and the columns of its filters, so that rows that are not
-- shown are not read.
CREATE INDEX IF NOT EXISTS conversations_list_created
    ON conversations (user_id, created_at DESC, id DESC) INCLUDE (execution_status, runtime_session);
CREATE INDEX IF NOT EXISTS conversations_list_updated
    ON conversations (user_id, updated_at DESC, id DESC) INCLUDE (execution_status, runtime_session);
-- Changes of all users since a time, for webhooks.
CREATE INDEX IF NOT EXISTS conversations_updated ON conversations (updated_at);

-- A writer of the specification that does not also write spec_info makes it unknown.
CREATE OR REPLACE FUNCTION conversations_forget_spec_info() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.spec_info := NULL;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER conversations_spec_info BEFORE UPDATE OF spec ON conversations
    FOR EACH ROW WHEN (NEW.spec IS DISTINCT FROM OLD.spec AND NEW.spec_info IS NOT DISTINCT FROM OLD.spec_info)
    EXECUTE FUNCTION conversations_forget_spec_info();

-- Logs that continue from an earlier event: from_seq and its successors follow parent_seq (0: the start).
-- A conversation without navigation has no row.
CREATE TABLE IF NOT EXISTS branches (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    from_seq        bigint NOT NULL,
    parent_seq      bigint NOT NULL CHECK (parent_seq < from_seq),
    PRIMARY KEY (conversation_id, from_seq)
);

COMMIT;
