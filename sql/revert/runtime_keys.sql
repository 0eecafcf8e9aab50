-- Revert deft:runtime_keys from pg
BEGIN;
ALTER TABLE runtimes DROP COLUMN tenant_id, DROP COLUMN tenant_session;
DROP TABLE runtime_keys;
COMMIT;
