-- Verify deft:runtime_keys on pg
SELECT id, user_id, name, key_hash, max_runtimes, created_at, revoked_at FROM runtime_keys WHERE false;
SELECT tenant_id, tenant_session FROM runtimes WHERE false;
