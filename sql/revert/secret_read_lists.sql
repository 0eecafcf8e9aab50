-- Revert deft:secret_read_lists from pg
BEGIN;
DROP INDEX secret_reads_user, secret_reads_name;
COMMIT;
