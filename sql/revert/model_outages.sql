-- Revert deft_schema:model_outages from pg
BEGIN;
DROP TABLE model_outages;
COMMIT;
