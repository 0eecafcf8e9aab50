-- Verify deft:mcp_sign_ins on pg
SELECT id, user_id, state_hash, status, body, sealed, created_at, changed_at
  FROM mcp_sign_ins WHERE false;
