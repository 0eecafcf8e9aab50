-- Verify deft_schema:session_jobs on pg
SELECT 1 / count(*) FROM pg_constraint
 WHERE conrelid = 'jobs'::regclass AND conname = 'jobs_kind_check'
   AND pg_get_constraintdef(oid) LIKE '%''sessions''%';
