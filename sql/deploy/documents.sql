-- Deploy deft_schema:documents to pg
BEGIN;

-- A user's settings, profiles, connections, secrets, workspace places: few and small, each read and
-- written whole. `revision` refuses a writer that has not read the newest version.
CREATE TABLE IF NOT EXISTS documents (
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    collection text NOT NULL,
    name       text NOT NULL,
    id         uuid NOT NULL,
    revision   bigint NOT NULL DEFAULT 1,
    body       text COMPRESSION lz4 NOT NULL, -- JSON; no secret
    sealed     text COMPRESSION lz4,          -- sealed JSON; NULL: no secret
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, collection, name),
    UNIQUE (id)
);

COMMIT;
