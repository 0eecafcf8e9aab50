-- Deploy deft:branches to pg
BEGIN;

-- Where a log was continued from an earlier event: from_seq and what follows stand behind parent_seq
-- (0: behind nothing). A conversation that nobody navigated in has no row.
CREATE TABLE IF NOT EXISTS branches (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    from_seq        bigint NOT NULL,
    parent_seq      bigint NOT NULL CHECK (parent_seq < from_seq),
    PRIMARY KEY (conversation_id, from_seq)
);

COMMIT;
