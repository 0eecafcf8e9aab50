-- Revert deft_schema:checkpoints from pg
BEGIN;
DROP TABLE checkpoints;
COMMIT;
