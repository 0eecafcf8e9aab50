-- Verify deft_schema:checkpoints on pg
SELECT conversation_id, seq, message_id, runtime_session, runtime_id, tree, details, created_at
    FROM checkpoints WHERE false;
