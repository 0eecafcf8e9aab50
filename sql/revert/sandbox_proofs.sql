-- Revert deft:sandbox_proofs from pg
BEGIN;

ALTER TABLE runtimes DROP COLUMN proves;

COMMIT;
