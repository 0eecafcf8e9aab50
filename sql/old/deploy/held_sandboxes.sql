-- Deploy deft:held_sandboxes to pg
BEGIN;

-- A tenant of the Runtime API paused it: it stays so until its tenant resumes it. One that was let rest
-- wakes by a call.
ALTER TABLE runtimes ADD COLUMN IF NOT EXISTS is_held boolean NOT NULL DEFAULT false;

COMMIT;
