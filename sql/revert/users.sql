-- Revert deft:users from pg
BEGIN;
DROP TABLE api_keys, sessions, sign_in_links, users;
COMMIT;
