-- Verify deft:egress_refusals on pg
SELECT runtime_id, reason, protocol, host, port, count, first_at, last_at
  FROM egress_refusals WHERE false;
