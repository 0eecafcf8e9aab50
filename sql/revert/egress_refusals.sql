-- Revert deft:egress_refusals from pg
BEGIN;
DROP INDEX runtimes_network;
DROP TABLE egress_refusals;
COMMIT;
