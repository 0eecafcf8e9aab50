-- Deploy deft:runtime_keys to pg
BEGIN;

-- Who may ask for sandboxes from outside. Each key is a tenant, with sandboxes of its own; what runs
-- in them belongs to its user.
CREATE TABLE IF NOT EXISTS runtime_keys (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text NOT NULL,
    key_hash     text NOT NULL UNIQUE,
    max_runtimes integer CHECK (max_runtimes >= 1), -- NULL: the service's setting
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz
);

-- A tenant's own name for a session stands beside ours, which no other tenant can meet.
ALTER TABLE runtimes
    ADD COLUMN IF NOT EXISTS tenant_id uuid REFERENCES runtime_keys ON DELETE SET NULL,
    ADD COLUMN IF NOT EXISTS tenant_session text;
CREATE INDEX IF NOT EXISTS runtimes_tenant ON runtimes (tenant_id, created_at) WHERE tenant_id IS NOT NULL;

COMMIT;
