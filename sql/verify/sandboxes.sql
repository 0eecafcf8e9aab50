-- Verify deft:sandboxes on pg
BEGIN;

SELECT 'runtimes_owner'::regclass;

ROLLBACK;
