-- Verify deft:job_results on pg
SELECT key, result, done_at FROM jobs WHERE false;
