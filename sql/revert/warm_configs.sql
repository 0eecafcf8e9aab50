-- Revert deft:warm_configs from pg
BEGIN;
DROP TABLE warm_configs;
COMMIT;
