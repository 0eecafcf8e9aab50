-- Revert deft:webhooks from pg
BEGIN;

DROP TABLE webhook_leftovers;
DROP TABLE webhook_cursors;
DROP TABLE webhooks;

COMMIT;
