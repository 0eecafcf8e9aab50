-- Verify deft:conversation_times on pg
BEGIN;

SELECT 'conversations_updated'::regclass;

ROLLBACK;
