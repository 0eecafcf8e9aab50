-- Verify deft_schema:roles on pg
SELECT 1 / (has_table_privilege('deft_fcgi', 'events', 'INSERT')
            AND has_table_privilege('deft_gateway', 'events', 'INSERT')
            AND has_table_privilege('deft_worker', 'events', 'INSERT')
            AND has_table_privilege('deft_runtime', 'runtimes', 'INSERT')
            AND NOT has_table_privilege('deft_runtime', 'events', 'SELECT')
            AND NOT has_schema_privilege('deft_fcgi', 'public', 'CREATE'))::integer;
