-- Deploy deft:warm_sandboxes to pg
BEGIN;

-- Sandboxes that were started ahead and are nobody's yet. Who claims one moves it to `runtimes`, in one
-- transaction; a row that is not ready is one that is being started.
CREATE TABLE IF NOT EXISTS warm_sandboxes (
    id           text PRIMARY KEY, -- of the runtime that it will be
    image        text NOT NULL,
    memory_bytes bigint NOT NULL,
    nano_cpus    bigint NOT NULL,
    fittings     text NOT NULL, -- the deft-action that it runs
    home         text NOT NULL,
    image_id     text,
    container_id text,
    network      text,
    url          text,
    init_key     text, -- sealed with context "runtimes.init_key:<id>"
    is_ready     boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS warm_sandboxes_ready ON warm_sandboxes (image, created_at) WHERE is_ready;

COMMIT;
