-- Revert deft:conversation_lists from pg
BEGIN;
LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE;
CREATE INDEX conversations_user_created ON conversations (user_id, created_at DESC, id);
CREATE INDEX conversations_user_updated ON conversations (user_id, updated_at DESC, id);
DROP INDEX conversations_list_created;
DROP INDEX conversations_list_updated;
COMMIT;
