-- Deploy deft_schema:task_waits to pg
BEGIN;

-- Sub-agents whose runs a run waits for: from the start of such a run until its result is stored, or until the run
-- that waits has ended.
CREATE TABLE IF NOT EXISTS task_waits (
    conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
    child_id        uuid NOT NULL, -- not a reference: a deleted sub-agent has ended
    has_ended       boolean NOT NULL DEFAULT false, -- the run knows, and waits for the others
    PRIMARY KEY (conversation_id, child_id)
);
REVOKE ALL ON task_waits FROM deft_gateway, deft_runtime;
REVOKE INSERT, UPDATE ON task_waits FROM deft_fcgi;

-- The run waits without a lease; it can be claimed when one of those runs has ended.
ALTER TABLE conversations ADD COLUMN IF NOT EXISTS is_suspended boolean NOT NULL DEFAULT false;

-- Until this step a run waited for one sub-agent, whose id was in its row. Nothing but processes of the release before,
-- which run until they are restarted, reads and writes that column now.
INSERT INTO task_waits (conversation_id, child_id) SELECT id, waits_for FROM conversations
    WHERE waits_for IS NOT NULL AND wanted_at IS NOT NULL ON CONFLICT DO NOTHING;
UPDATE conversations SET is_suspended = true
    WHERE waits_for IS NOT NULL AND wanted_at IS NOT NULL AND lease_owner IS NULL;

COMMIT;
