-- Verify deft:server_init on pg
SELECT is_only, settings, done_at FROM server_init WHERE false;
