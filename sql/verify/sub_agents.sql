-- Verify deft:sub_agents on pg
SELECT is_sub_agent, waits_for FROM conversations WHERE false;
