-- Revert deft_schema:webhooks from pg
BEGIN;
DROP TABLE webhook_leftovers, webhook_cursors, webhooks;
COMMIT;
