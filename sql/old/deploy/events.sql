-- Deploy deft:events to pg
BEGIN;

-- `seq` is gapless from 1: n + 1 is written only by one who has read n. `body` is the exact wire JSON.
CREATE TABLE IF NOT EXISTS events (
    conversation_id uuid NOT NULL,
    seq             bigint NOT NULL,
    id              uuid NOT NULL,
    kind            text NOT NULL,
    source          text NOT NULL,
    timestamp       text NOT NULL COLLATE "C",
    result_of       uuid, -- the ActionEvent that this one ends
    fence           bigint, -- of the lease it was written under; NULL for a client's
    body            text COMPRESSION lz4 NOT NULL,
    PRIMARY KEY (conversation_id, seq),
    UNIQUE (conversation_id, id)
) PARTITION BY HASH (conversation_id);

DO $$
BEGIN
    FOR i IN 0..7 LOOP
        EXECUTE format('CREATE TABLE IF NOT EXISTS events_%s PARTITION OF events'
                       ' FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
    END LOOP;
END
$$;

-- One result per tool call, whoever writes it.
CREATE UNIQUE INDEX IF NOT EXISTS events_result ON events (conversation_id, result_of) WHERE result_of IS NOT NULL;

COMMIT;
