-- Verify deft:secret_read_lists on pg
SELECT 'secret_reads_user'::regclass, 'secret_reads_name'::regclass;
