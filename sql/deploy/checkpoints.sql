-- Deploy deft_schema:checkpoints to pg
BEGIN;

-- Which files a conversation's workspace had: a row for each turn whose calls may change files, and for each restore.
-- The files are in the sandbox.
CREATE TABLE IF NOT EXISTS checkpoints (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    seq             bigint NOT NULL, -- of the first event after it
    message_id      uuid,            -- the user's message that began the turn
    runtime_session text NOT NULL,   -- of the sandbox that has it
    runtime_id      text NOT NULL,   -- that sandbox: another one of the session does not have it
    tree            text,            -- its name in the sandbox; NULL: none could be taken
    details         text COMPRESSION lz4 NOT NULL, -- JSON: lib/store/conversation/checkpoint_store.h
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, seq)
);
REVOKE ALL ON checkpoints FROM deft_gateway, deft_runtime;
REVOKE UPDATE, DELETE ON checkpoints FROM deft_fcgi, deft_worker;

COMMIT;
