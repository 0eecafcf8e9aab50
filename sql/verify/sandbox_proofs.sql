-- Verify deft:sandbox_proofs on pg
BEGIN;

SELECT proves FROM runtimes WHERE false;

ROLLBACK;
