-- Verify deft_schema:secret_reads on pg
SELECT id, user_id, runtime_id, name, read_at FROM secret_reads WHERE false;
SELECT has_function_privilege('secret_reads_refuse_change()', 'execute');
