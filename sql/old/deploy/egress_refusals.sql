-- Deploy deft:egress_refusals to pg
BEGIN;

-- What a sandbox was refused on the network, counted; a bounded number of rows each.
CREATE TABLE IF NOT EXISTS egress_refusals (
    runtime_id text NOT NULL REFERENCES runtimes ON DELETE CASCADE,
    reason     text NOT NULL,
    protocol   text NOT NULL,
    host       text NOT NULL,
    port       integer NOT NULL CHECK (port BETWEEN 0 AND 65535), -- 0: it has none
    count      bigint NOT NULL CHECK (count > 0),
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (runtime_id, reason, protocol, host, port)
);
-- A packet tells its network, not its sandbox.
CREATE INDEX IF NOT EXISTS runtimes_network ON runtimes (network) WHERE network IS NOT NULL;

COMMIT;
