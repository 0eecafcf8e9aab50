-- Revert deft:branches from pg
BEGIN;
DROP TABLE branches;
COMMIT;
