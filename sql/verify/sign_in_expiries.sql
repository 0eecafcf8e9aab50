-- Verify deft:sign_in_expiries on pg
BEGIN;

SELECT 'sign_in_links_expiry'::regclass, 'sessions_expiry'::regclass, 'mcp_sign_ins_age'::regclass;

ROLLBACK;
