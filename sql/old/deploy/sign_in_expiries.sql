-- Deploy deft:sign_in_expiries to pg
BEGIN;

-- What is over is found without reading what is not.
CREATE INDEX IF NOT EXISTS sign_in_links_expiry ON sign_in_links (expires_at);
CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at);
CREATE INDEX IF NOT EXISTS mcp_sign_ins_age ON mcp_sign_ins (created_at);

COMMIT;
