-- Revert deft:server_init from pg
BEGIN;

DROP TABLE server_init;

COMMIT;
