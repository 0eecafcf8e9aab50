-- Verify deft:held_sandboxes on pg
BEGIN;

SELECT is_held FROM runtimes WHERE false;

ROLLBACK;
