-- Deploy deft:sub_agents to pg
BEGIN;

-- A sub-agent is a conversation that a call of another one's agent made, and goes with it. The run
-- of that one waits for the end of the sub-agent's without a lease: it is claimed again when
-- waits_for is no conversation that is wanted.
ALTER TABLE conversations
    ADD COLUMN IF NOT EXISTS is_sub_agent boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS waits_for    uuid;

COMMIT;
