-- Verify deft:admin_logins on pg
BEGIN;

SELECT challenge, at, is_ok FROM admin_logins WHERE false;

ROLLBACK;
