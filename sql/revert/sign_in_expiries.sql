-- Revert deft:sign_in_expiries from pg
BEGIN;

DROP INDEX mcp_sign_ins_age;
DROP INDEX sessions_expiry;
DROP INDEX sign_in_links_expiry;

COMMIT;
