-- Verify deft:conversation_lists on pg
SELECT 'conversations_list_created'::regclass, 'conversations_list_updated'::regclass;
