-- Verify deft_schema:runtimes on pg
SELECT id, user_id, name, key_hash, max_runtimes, created_at, revoked_at, egress, egress_allow FROM
       runtime_keys WHERE false;
SELECT id, session_id, owner_id, desired, status, status_detail, image, spec, backend, container_id,
       network, url, session_key, session_key_hash, restart_count, created_at, updated_at,
       last_used_at, tenant_id, tenant_session, since, is_held, proves FROM runtimes WHERE false;
SELECT id, image, memory_bytes, nano_cpus, fittings, home, image_id, container_id, network, url,
       init_key, is_ready, created_at FROM warm_sandboxes WHERE false;
SELECT name, image, memory_bytes, nano_cpus, count, config, updated_at FROM warm_configs WHERE
       false;
SELECT id, tenant_id, image, tags, context_hash, status, error, image_id, created_at, updated_at
       FROM image_builds WHERE false;
SELECT runtime_id, reason, protocol, host, port, count, first_at, last_at FROM egress_refusals WHERE
       false;
SELECT challenge, at, is_ok FROM admin_logins WHERE false;
