-- Verify deft_schema:webhooks on pg
SELECT id, since, scanned_to FROM webhooks WHERE false;
SELECT webhook_id, conversation_id, seq, looked_at, state, told, due_at, attempts, lease_owner,
       lease_expires_at, farewell FROM webhook_cursors WHERE false;
SELECT webhook_id, conversation_id, seq, body FROM webhook_leftovers WHERE false;
