-- Deploy deft:secret_read_lists to pg
BEGIN;

-- What all sandboxes of a user read, the latest first; and the last reading of each secret.
CREATE INDEX IF NOT EXISTS secret_reads_user ON secret_reads (user_id, id);
CREATE INDEX IF NOT EXISTS secret_reads_name ON secret_reads (user_id, name, id);

COMMIT;
