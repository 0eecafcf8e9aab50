-- Deploy deft_schema:webhooks to pg
BEGIN;

-- Receivers, by their names in a worker's settings; their addresses are not stored.
CREATE TABLE IF NOT EXISTS webhooks (
    id         text PRIMARY KEY,
    since      timestamptz NOT NULL DEFAULT now(), -- older events are not sent
    scanned_to timestamptz NOT NULL DEFAULT now()  -- conversations changed before it were examined
);

-- Delivery cursors: outlive a conversation until the receiver knows of its end.
CREATE TABLE IF NOT EXISTS webhook_cursors (
    webhook_id       text NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    conversation_id  uuid NOT NULL,
    seq              bigint NOT NULL,             -- last event delivered
    looked_at        timestamptz,                 -- updated_at of the row that `state` is of
    state            text,                        -- of the conversation: its newest fingerprint
    told             text,                        -- the fingerprint that was delivered
    due_at           timestamptz,                 -- NULL: nothing to send
    attempts         integer NOT NULL DEFAULT 0,  -- failed in a row
    lease_owner      uuid,
    lease_expires_at timestamptz,
    farewell         text COMPRESSION lz4,        -- the last ConversationInfo of a deleted conversation
    PRIMARY KEY (webhook_id, conversation_id)
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS webhook_cursors_due ON webhook_cursors (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_cursors_lease ON webhook_cursors (lease_owner) WHERE lease_owner IS NOT NULL;

-- Undelivered events of deleted conversations.
CREATE TABLE IF NOT EXISTS webhook_leftovers (
    webhook_id      text NOT NULL,
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    body            text COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (webhook_id, conversation_id, seq),
    FOREIGN KEY (webhook_id, conversation_id) REFERENCES webhook_cursors ON DELETE CASCADE
);

COMMIT;
