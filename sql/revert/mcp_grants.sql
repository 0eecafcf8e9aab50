-- Revert deft_schema:mcp_grants from pg
BEGIN;
DROP TABLE mcp_grant_tokens, mcp_grants;
COMMIT;
