-- Deploy deft:roles to pg
BEGIN;

-- A role for each process. They own nothing and make nothing; who deploys owns the schema, and no
-- process is that. Roles belong to the cluster: another database of it may have made them.
DO $$
DECLARE
    process text;
BEGIN
    FOREACH process IN ARRAY ARRAY['deft_fcgi', 'deft_gateway', 'deft_worker', 'deft_runtime'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = process) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', process);
        END IF;
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO deft_fcgi, deft_gateway, deft_worker, deft_runtime', current_database());
END
$$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO deft_fcgi, deft_gateway, deft_worker, deft_runtime;

-- Tables of later changes, until a change says less. The gateway reads.
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO deft_fcgi, deft_worker, deft_runtime;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO deft_gateway;

-- A row is locked by who may update a column of it; (name) is for locks alone.

GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversations, documents, sign_in_links, sessions, mcp_sign_ins
    TO deft_fcgi;
GRANT SELECT, INSERT, DELETE ON events, jobs, preview_passes, preview_sessions TO deft_fcgi;
GRANT SELECT, INSERT, UPDATE ON users, api_keys, runtime_keys, branches, webhook_cursors TO deft_fcgi;
GRANT SELECT, INSERT ON server_init TO deft_fcgi;
GRANT INSERT ON webhook_leftovers TO deft_fcgi;
GRANT SELECT, UPDATE ON runtimes TO deft_fcgi;
GRANT SELECT ON webhooks, warm_configs TO deft_fcgi;

-- Who connects, what there is to show, and a message that came by a socket.
GRANT SELECT ON users, api_keys, sessions, runtimes, branches, server_init, events, jobs, conversations
    TO deft_gateway;
GRANT INSERT ON events, jobs TO deft_gateway;
GRANT UPDATE ON conversations TO deft_gateway;

GRANT SELECT, INSERT, UPDATE, DELETE ON jobs, webhooks, webhook_cursors TO deft_worker;
GRANT SELECT, INSERT, UPDATE ON conversations TO deft_worker;
GRANT SELECT, INSERT ON events TO deft_worker;
GRANT SELECT ON users, documents, branches, server_init, webhook_leftovers TO deft_worker;
GRANT UPDATE (name) ON users TO deft_worker;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    runtimes, warm_sandboxes, warm_configs, image_builds, egress_refusals, admin_logins
    TO deft_runtime;
GRANT SELECT ON users, runtime_keys, conversations TO deft_runtime;
GRANT UPDATE (name) ON runtime_keys TO deft_runtime;

COMMIT;
