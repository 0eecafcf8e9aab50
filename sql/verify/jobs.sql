-- Verify deft_schema:jobs on pg
SELECT id, kind, conversation_id, payload, due_at, attempts, lease_owner, lease_expires_at,
       last_error, created_at, key, result, done_at FROM jobs WHERE false;
