-- Revert deft_schema:documents from pg
BEGIN;
DROP TABLE documents;
COMMIT;
