-- Revert deft:mcp_sign_ins from pg
BEGIN;
DROP TABLE mcp_sign_ins;
COMMIT;
