-- Verify deft:runtime_rest on pg
SELECT since FROM runtimes WHERE false;
SELECT 1 / count(*) FROM pg_class WHERE relname = 'runtimes_status_since';
