-- Deploy deft_schema:secret_reads to pg
BEGIN;

-- Reads of stored secrets with the key of a sandbox. Rows outlive the sandbox and are never changed.
CREATE TABLE IF NOT EXISTS secret_reads (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    uuid NOT NULL, -- whose secret it is
    runtime_id text NOT NULL, -- whose key read it
    name       text NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS secret_reads_runtime ON secret_reads (runtime_id, id);
-- A user's reads over all sandboxes, and the last read of each secret.
CREATE INDEX IF NOT EXISTS secret_reads_user ON secret_reads (user_id, id);
CREATE INDEX IF NOT EXISTS secret_reads_name ON secret_reads (user_id, name, id);

CREATE OR REPLACE FUNCTION secret_reads_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'secret_reads is a record: rows are added only';
END
$$;
CREATE OR REPLACE TRIGGER secret_reads_add_only BEFORE UPDATE OR DELETE OR TRUNCATE ON secret_reads
    FOR EACH STATEMENT EXECUTE FUNCTION secret_reads_refuse_change();

COMMIT;
