-- Verify deft:branches on pg
SELECT conversation_id, from_seq, parent_seq FROM branches WHERE false;
