-- Deploy deft:egress_policies to pg
BEGIN;

-- Where sandboxes may go. NULL: what the runtime service's settings say. A key's own counts before its
-- user's.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS egress text CHECK (egress IN ('internet', 'none', 'list')),
    ADD COLUMN IF NOT EXISTS egress_allow text;
ALTER TABLE runtime_keys
    ADD COLUMN IF NOT EXISTS egress text CHECK (egress IN ('internet', 'none', 'list')),
    ADD COLUMN IF NOT EXISTS egress_allow text;

COMMIT;
