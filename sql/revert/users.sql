-- Revert deft_schema:users from pg
BEGIN;
DROP TABLE mcp_sign_ins, server_init, api_keys, sessions, sign_in_links, users;
COMMIT;
