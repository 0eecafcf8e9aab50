-- Deploy deft:server_init to pg
BEGIN;

-- A server that starts deferred is dormant until this row is there.
CREATE TABLE IF NOT EXISTS server_init (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    settings text NOT NULL, -- sealed JSON: what was asked for with it
    done_at  timestamptz NOT NULL DEFAULT now()
);

COMMIT;
