-- Revert deft:conversation_infos from pg
BEGIN;

DROP TRIGGER conversations_spec_info ON conversations;
DROP FUNCTION conversations_forget_spec_info();
ALTER TABLE conversations DROP COLUMN spec_info, DROP COLUMN leaf_event_id, DROP COLUMN is_leaf_known;

COMMIT;
