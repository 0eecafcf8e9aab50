-- Verify deft:runtimes on pg
SELECT id, session_id, owner_id, desired, status, status_detail, image, spec, backend, container_id,
       network, url, session_key, session_key_hash, restart_count, created_at, updated_at, last_used_at
  FROM runtimes WHERE false;
