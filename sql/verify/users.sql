-- Verify deft_schema:users on pg
SELECT id, email, name, created_at, run_slots, run_queue, egress, egress_allow FROM users WHERE
       false;
SELECT token_hash, user_id, created_at, expires_at, used_at FROM sign_in_links WHERE false;
SELECT id, user_id, token_hash, created_at, expires_at FROM sessions WHERE false;
SELECT id, user_id, name, key_hash, created_at, revoked_at FROM api_keys WHERE false;
SELECT is_only, settings, done_at FROM server_init WHERE false;
SELECT id, user_id, state_hash, status, body, sealed, created_at, changed_at FROM mcp_sign_ins WHERE
       false;
