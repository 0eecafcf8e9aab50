-- Verify deft:warm_configs on pg
SELECT name, image, memory_bytes, nano_cpus, count, config, updated_at FROM warm_configs WHERE false;
