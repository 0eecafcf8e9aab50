-- Revert deft:documents from pg
BEGIN;
DROP TABLE documents;
COMMIT;
