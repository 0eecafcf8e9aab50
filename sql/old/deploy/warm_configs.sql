-- Deploy deft:warm_configs to pg
BEGIN;

-- What an administrator wants to wait, started: so many sandboxes of an image and a size. One called as
-- the configuration of the settings (default) counts in its place.
CREATE TABLE IF NOT EXISTS warm_configs (
    name         text PRIMARY KEY,
    image        text NOT NULL,
    memory_bytes bigint NOT NULL,
    nano_cpus    bigint NOT NULL,
    count        integer NOT NULL CHECK (count >= 0),
    config       jsonb NOT NULL, -- as it was given, for clients that read more of it
    updated_at   timestamptz NOT NULL DEFAULT now()
);

COMMIT;
