-- Deploy deft:admin_logins to pg
BEGIN;

-- Each attempt to sign in at the Runtime API's admin routes, by its challenge: none is tried twice, and
-- failures are counted for all processes together.
CREATE TABLE IF NOT EXISTS admin_logins (
    challenge text PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    is_ok     boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS admin_logins_at ON admin_logins (at);

COMMIT;
