-- Verify deft:warm_sandboxes on pg
SELECT id, image, memory_bytes, nano_cpus, fittings, home, image_id, container_id, network, url, init_key, is_ready, created_at
  FROM warm_sandboxes WHERE false;
