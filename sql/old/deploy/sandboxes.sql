-- Deploy deft:sandboxes to pg
BEGIN;

-- A user's sandboxes, newest first.
CREATE INDEX IF NOT EXISTS runtimes_owner ON runtimes (owner_id, created_at DESC, id DESC) WHERE tenant_id IS NULL;

COMMIT;
