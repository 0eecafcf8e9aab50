-- Revert deft:admin_logins from pg
BEGIN;

DROP TABLE admin_logins;

COMMIT;
