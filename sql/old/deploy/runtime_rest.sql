-- Deploy deft:runtime_rest to pg
BEGIN;

-- Since when it is up (starting, running) or at rest (paused, stopped, error): what is too long is
-- found by this, for each status, without reading the others.
ALTER TABLE runtimes ADD COLUMN IF NOT EXISTS since timestamptz NOT NULL DEFAULT now();
UPDATE runtimes SET since = updated_at;
CREATE INDEX IF NOT EXISTS runtimes_status_since ON runtimes (status, since);

COMMIT;
