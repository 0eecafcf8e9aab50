-- Deploy deft_schema:runtimes to pg
BEGIN;

-- Keys of the Runtime API: each is a tenant with sandboxes of its own, which belong to its user.
CREATE TABLE IF NOT EXISTS runtime_keys (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    name         text NOT NULL,
    key_hash     text NOT NULL UNIQUE,
    max_runtimes integer CHECK (max_runtimes >= 1), -- NULL: the service's setting
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    egress       text CHECK (egress IN ('internet', 'none', 'list')), -- NULL: the user's setting
    egress_allow text
);

-- Sandboxes. `desired` is the requested state, `status` the engine's; the runtime service makes the
-- second equal to the first.
CREATE TABLE IF NOT EXISTS runtimes (
    id               text PRIMARY KEY,
    session_id       text NOT NULL,
    owner_id         uuid REFERENCES users ON DELETE SET NULL,
    desired          text NOT NULL DEFAULT 'running'
                     CHECK (desired IN ('running', 'paused', 'stopped', 'deleted')),
    status           text NOT NULL DEFAULT 'starting'
                     CHECK (status IN ('starting', 'running', 'paused', 'stopped', 'error')),
    status_detail    text,
    image            text NOT NULL,
    spec             jsonb NOT NULL,
    backend          text NOT NULL DEFAULT 'docker',
    container_id     text,
    network          text,
    url              text,
    session_key      text NOT NULL,
    session_key_hash text NOT NULL UNIQUE,
    restart_count    integer NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    last_used_at     timestamptz NOT NULL DEFAULT now(),
    tenant_id        uuid REFERENCES runtime_keys ON DELETE SET NULL,
    tenant_session   text, -- the tenant's own name of the session
    since            timestamptz NOT NULL DEFAULT now(), -- up (starting, running) or at rest (all others)
    is_held          boolean NOT NULL DEFAULT false, -- paused by its tenant: only the tenant resumes it
    proves           boolean NOT NULL DEFAULT true -- its server proves that it knows the session key
);
-- A session has one sandbox at a time; its history may hold stopped and failed ones.
CREATE UNIQUE INDEX IF NOT EXISTS runtimes_live_session ON runtimes (session_id)
    WHERE status IN ('starting', 'running', 'paused');
CREATE INDEX IF NOT EXISTS runtimes_session ON runtimes (session_id, created_at DESC);
CREATE INDEX IF NOT EXISTS runtimes_unsettled ON runtimes (updated_at)
    WHERE desired <> status;
CREATE INDEX IF NOT EXISTS runtimes_tenant ON runtimes (tenant_id, created_at) WHERE tenant_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS runtimes_status_since ON runtimes (status, since);
-- A packet carries its network, not its sandbox.
CREATE INDEX IF NOT EXISTS runtimes_network ON runtimes (network) WHERE network IS NOT NULL;
CREATE INDEX IF NOT EXISTS runtimes_owner ON runtimes (owner_id, created_at DESC, id DESC) WHERE tenant_id IS NULL;

-- Sandboxes started ahead, not assigned yet. A claim moves a row to `runtimes` in one transaction; a row
-- that is not ready is being started.
CREATE TABLE IF NOT EXISTS warm_sandboxes (
    id           text PRIMARY KEY, -- of the runtime that it will be
    image        text NOT NULL,
    memory_bytes bigint NOT NULL,
    nano_cpus    bigint NOT NULL,
    fittings     text NOT NULL, -- id of the deft-action that it runs
    home         text NOT NULL,
    image_id     text,
    container_id text,
    network      text,
    url          text,
    init_key     text, -- sealed with context "runtimes.init_key:<id>"
    is_ready     boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS warm_sandboxes_ready ON warm_sandboxes (image, created_at) WHERE is_ready;

-- The administrator's sizes of the warm pool: a number of sandboxes per image and resource class. One
-- with the name of the configuration in the settings (default) replaces it.
CREATE TABLE IF NOT EXISTS warm_configs (
    name         text PRIMARY KEY,
    image        text NOT NULL,
    memory_bytes bigint NOT NULL,
    nano_cpus    bigint NOT NULL,
    count        integer NOT NULL CHECK (count >= 0),
    config       jsonb NOT NULL, -- as it was posted
    updated_at   timestamptz NOT NULL DEFAULT now()
);

-- Images built from a posted context. A build that is queued or running when the service ends has
-- failed; an image stays until its key is revoked or newer ones of that key replace it.
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

-- Refused connections of sandboxes, counted; a bounded number of rows per sandbox.
CREATE TABLE IF NOT EXISTS egress_refusals (
    runtime_id text NOT NULL REFERENCES runtimes ON DELETE CASCADE,
    reason     text NOT NULL,
    protocol   text NOT NULL,
    host       text NOT NULL,
    port       integer NOT NULL CHECK (port BETWEEN 0 AND 65535), -- 0: it has none
    count      bigint NOT NULL CHECK (count > 0),
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (runtime_id, reason, protocol, host, port)
);

-- Attempts to sign in as the Runtime API's administrator, by challenge: none is used twice, and failures
-- are counted for all processes together.
CREATE TABLE IF NOT EXISTS admin_logins (
    challenge text PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    is_ok     boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS admin_logins_at ON admin_logins (at);

COMMIT;
