-- Verify deft:run_slots on pg
SELECT run_slots, run_queue FROM users WHERE false;
