-- Deploy deft:run_slots to pg
BEGIN;

-- How many runs of a user go on at a time, and how many more may wait. NULL: the server's setting.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS run_slots integer CHECK (run_slots >= 1),
    ADD COLUMN IF NOT EXISTS run_queue integer CHECK (run_queue >= 0);
CREATE INDEX IF NOT EXISTS conversations_user_wanted ON conversations (user_id, wanted_at)
    WHERE wanted_at IS NOT NULL;

COMMIT;
