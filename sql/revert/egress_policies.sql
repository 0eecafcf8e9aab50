-- Revert deft:egress_policies from pg
BEGIN;
ALTER TABLE runtime_keys DROP COLUMN egress_allow, DROP COLUMN egress;
ALTER TABLE users DROP COLUMN egress_allow, DROP COLUMN egress;
COMMIT;
