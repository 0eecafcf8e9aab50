-- Deploy deft:image_builds to pg
BEGIN;

-- Images that were built from a posted context. What is queued or under way when the service ends has
-- failed; what has succeeded stays until its key is revoked, or newer ones of that key push it out.
CREATE TABLE IF NOT EXISTS image_builds (
    id           text PRIMARY KEY,
    tenant_id    uuid REFERENCES runtime_keys ON DELETE SET NULL, -- NULL: one of deft's own processes
    image        text NOT NULL,
    tags         jsonb NOT NULL, -- all its names, the image's own first
    context_hash text NOT NULL,
    status       text NOT NULL DEFAULT 'QUEUED'
                 CHECK (status IN ('QUEUED', 'BUILDING', 'SUCCESS', 'FAILURE', 'INTERNAL_ERROR', 'TIMEOUT', 'EXPIRED')),
    error        text,
    image_id     text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
-- One build of a name at a time.
CREATE UNIQUE INDEX IF NOT EXISTS image_builds_pending ON image_builds (image) WHERE status IN ('QUEUED', 'BUILDING');
CREATE INDEX IF NOT EXISTS image_builds_image ON image_builds (image, created_at DESC);

COMMIT;
