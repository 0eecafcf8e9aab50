-- Verify deft:egress_policies on pg
SELECT egress, egress_allow FROM users WHERE false;
SELECT egress, egress_allow FROM runtime_keys WHERE false;
