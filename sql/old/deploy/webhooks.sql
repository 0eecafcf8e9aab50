-- Deploy deft:webhooks to pg
BEGIN;

-- A receiver of news, as a worker's settings name it. Not its address: only how far it was served.
CREATE TABLE IF NOT EXISTS webhooks (
    id         text PRIMARY KEY,
    since      timestamptz NOT NULL DEFAULT now(), -- what is older was never promised
    scanned_to timestamptz NOT NULL DEFAULT now()  -- conversations written before it were looked at
);

-- What a receiver has of a conversation; outlives the conversation until it knows of its end.
CREATE TABLE IF NOT EXISTS webhook_cursors (
    webhook_id       text NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    conversation_id  uuid NOT NULL,
    seq              bigint NOT NULL,             -- events up to this one were taken
    looked_at        timestamptz,                 -- updated_at of the row that `state` is of
    state            text,                        -- of the conversation: its newest fingerprint
    told             text,                        -- the one that the receiver knows
    due_at           timestamptz,                 -- null: nothing to send
    attempts         integer NOT NULL DEFAULT 0,  -- failed in a row
    lease_owner      uuid,
    lease_expires_at timestamptz,
    farewell         text COMPRESSION lz4,        -- the last ConversationInfo of one that is deleted
    PRIMARY KEY (webhook_id, conversation_id)
) WITH (fillfactor = 80);
CREATE INDEX IF NOT EXISTS webhook_cursors_due ON webhook_cursors (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_cursors_lease ON webhook_cursors (lease_owner) WHERE lease_owner IS NOT NULL;

-- Events of a deleted conversation that a receiver had not taken yet.
CREATE TABLE IF NOT EXISTS webhook_leftovers (
    webhook_id      text NOT NULL,
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    body            text COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (webhook_id, conversation_id, seq),
    FOREIGN KEY (webhook_id, conversation_id) REFERENCES webhook_cursors ON DELETE CASCADE
);

COMMIT;
