-- Verify deft_schema:task_waits on pg
SELECT conversation_id, child_id, has_ended FROM task_waits WHERE false;
SELECT is_suspended FROM conversations WHERE false;
