-- Revert deft:sandboxes from pg
BEGIN;

DROP INDEX runtimes_owner;

COMMIT;
