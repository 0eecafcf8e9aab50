-- Deploy deft_schema:mcp_grants to pg
BEGIN;

-- Newest tokens of users' sign-ins at MCP servers. Copies of older ones stay in settings and conversations: each
-- refresh token that a sign-in had leads to its grant. A sign-in whose tokens were never renewed has no row.
CREATE TABLE IF NOT EXISTS mcp_grants (
    user_id    uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    root_hash  text NOT NULL, -- of the sign-in's first known refresh token; HMAC-SHA256 under the instance's key
    sealed     text COMPRESSION lz4, -- sealed JSON; NULL: never renewed
    renewed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, root_hash)
);

CREATE TABLE IF NOT EXISTS mcp_grant_tokens (
    user_id    uuid NOT NULL,
    token_hash text NOT NULL,
    root_hash  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, token_hash),
    FOREIGN KEY (user_id, root_hash) REFERENCES mcp_grants ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS mcp_grant_tokens_grant ON mcp_grant_tokens (user_id, root_hash, created_at);

REVOKE ALL ON mcp_grants, mcp_grant_tokens FROM deft_gateway, deft_runtime;
REVOKE UPDATE ON mcp_grant_tokens FROM deft_fcgi, deft_worker;

COMMIT;
