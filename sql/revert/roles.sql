-- Revert deft_schema:roles from pg
BEGIN;

-- The roles stay: they belong to the cluster, and another database may use them.
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    REVOKE ALL ON TABLES FROM deft_fcgi, deft_gateway, deft_worker, deft_runtime;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM deft_fcgi, deft_gateway, deft_worker, deft_runtime;
REVOKE UPDATE (name) ON users FROM deft_worker;
REVOKE UPDATE (name) ON runtime_keys FROM deft_runtime;
REVOKE ALL ON SCHEMA public FROM deft_fcgi, deft_gateway, deft_worker, deft_runtime;
GRANT USAGE ON SCHEMA public TO PUBLIC;
DO $$
BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM deft_fcgi, deft_gateway, deft_worker, deft_runtime', current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO PUBLIC', current_database());
END
$$;

COMMIT;
