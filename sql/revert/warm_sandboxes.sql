-- Revert deft:warm_sandboxes from pg
BEGIN;
DROP TABLE warm_sandboxes;
COMMIT;
