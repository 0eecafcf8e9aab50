-- Revert deft:sub_agents from pg
BEGIN;
ALTER TABLE conversations
    DROP COLUMN waits_for,
    DROP COLUMN is_sub_agent;
COMMIT;
