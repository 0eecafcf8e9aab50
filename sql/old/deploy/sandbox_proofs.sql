-- Deploy deft:sandbox_proofs to pg
BEGIN;

-- Servers of sandboxes that run already know the session key itself, and cannot prove themselves.
ALTER TABLE runtimes ADD COLUMN IF NOT EXISTS proves boolean NOT NULL DEFAULT false;
ALTER TABLE runtimes ALTER COLUMN proves SET DEFAULT true;

COMMIT;
