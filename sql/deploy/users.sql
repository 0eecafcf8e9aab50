-- Deploy deft_schema:users to pg
BEGIN;

CREATE TABLE IF NOT EXISTS users (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    email      text NOT NULL,
    name       text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    -- Concurrent runs, and further runs that may wait. NULL: the server's setting.
    run_slots    integer CHECK (run_slots >= 1),
    run_queue    integer CHECK (run_queue >= 0),
    -- Destinations that sandboxes may reach. NULL: the runtime service's setting.
    egress       text CHECK (egress IN ('internet', 'none', 'list')),
    egress_allow text
);
CREATE UNIQUE INDEX IF NOT EXISTS users_email ON users (lower(email));

-- Tokens are never stored: a row holds HMAC-SHA256 under the instance's key.
CREATE TABLE IF NOT EXISTS sign_in_links (
    token_hash text PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX IF NOT EXISTS sign_in_links_expiry ON sign_in_links (expires_at);

CREATE TABLE IF NOT EXISTS sessions (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    token_hash text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);

CREATE TABLE IF NOT EXISTS api_keys (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name       text NOT NULL,
    key_hash   text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);
CREATE INDEX IF NOT EXISTS api_keys_user ON api_keys (user_id);

-- A server that starts deferred is dormant until this row is there.
CREATE TABLE IF NOT EXISTS server_init (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    settings text NOT NULL, -- sealed JSON: the settings of the initialization
    done_at  timestamptz NOT NULL DEFAULT now()
);

-- Sign-ins at MCP servers: begun here, decided in a browser, ended when the browser returns with the
-- state. Rows are deleted a day after they were made.
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
CREATE INDEX IF NOT EXISTS mcp_sign_ins_age ON mcp_sign_ins (created_at);

COMMIT;
