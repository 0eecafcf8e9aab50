-- Verify deft:conversation_infos on pg
BEGIN;

SELECT spec_info, leaf_event_id, is_leaf_known FROM conversations WHERE false;
SELECT 1 / count(*)::int FROM pg_trigger WHERE tgname = 'conversations_spec_info';

ROLLBACK;
