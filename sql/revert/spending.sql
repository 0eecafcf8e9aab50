-- Revert deft_schema:spending from pg
BEGIN;
ALTER TABLE users DROP COLUMN daily_budget_cents, DROP COLUMN budget_cents;
DROP TABLE budget_extensions;
DROP TABLE spending;
COMMIT;
