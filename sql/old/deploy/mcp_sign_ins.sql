-- Deploy deft:mcp_sign_ins to pg
BEGIN;

-- A user on the way to sign in at an MCP server: begun here, decided in a browser, ended when the
-- browser comes back with the state. Rows go a day after they were made.
CREATE TABLE IF NOT EXISTS mcp_sign_ins (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    state_hash text NOT NULL UNIQUE,
    status     text NOT NULL CHECK (status IN ('pending', 'authorizing', 'succeeded', 'failed')),
    body       text COMPRESSION lz4 NOT NULL, -- JSON; no secret
    sealed     text COMPRESSION lz4 NOT NULL, -- sealed JSON
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS mcp_sign_ins_user ON mcp_sign_ins (user_id, created_at);

COMMIT;
