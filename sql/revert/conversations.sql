-- Revert deft:conversations from pg
BEGIN;
DROP TABLE conversations;
COMMIT;
