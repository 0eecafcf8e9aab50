-- Revert deft_schema:conversations from pg
BEGIN;
DROP TABLE branches, conversations;
DROP FUNCTION conversations_forget_spec_info();
COMMIT;
