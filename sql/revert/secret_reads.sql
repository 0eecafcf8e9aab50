-- Revert deft_schema:secret_reads from pg
BEGIN;
DROP TABLE secret_reads;
DROP FUNCTION secret_reads_refuse_change();
COMMIT;
