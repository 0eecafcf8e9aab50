-- Deploy deft:secret_reads to pg
BEGIN;

-- Each reading of a stored secret with the key of a sandbox. Rows outlive the sandbox, and are never changed.
CREATE TABLE IF NOT EXISTS secret_reads (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    uuid NOT NULL, -- whose secret it is
    runtime_id text NOT NULL, -- whose key read it
    name       text NOT NULL,
    read_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS secret_reads_runtime ON secret_reads (runtime_id, id);
REVOKE ALL ON secret_reads FROM deft_fcgi, deft_gateway, deft_worker, deft_runtime;
GRANT SELECT, INSERT ON secret_reads TO deft_fcgi;

CREATE OR REPLACE FUNCTION secret_reads_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'secret_reads is a record: rows are added only';
END
$$;
CREATE OR REPLACE TRIGGER secret_reads_add_only BEFORE UPDATE OR DELETE OR TRUNCATE ON secret_reads
    FOR EACH STATEMENT EXECUTE FUNCTION secret_reads_refuse_change();

COMMIT;
