-- Verify deft_schema:mcp_grants on pg
SELECT user_id, root_hash, sealed, renewed_at FROM mcp_grants WHERE false;
SELECT user_id, token_hash, root_hash, created_at FROM mcp_grant_tokens WHERE false;
