-- Deploy deft:sign_in_expiries to pg
BEGIN;

-- What is over is found without reading what is not.
CREATE INDEX sign_in_links_expiry ON sign_in_links (expires_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX mcp_sign_ins_age ON mcp_sign_ins (created_at);

COMMIT;
