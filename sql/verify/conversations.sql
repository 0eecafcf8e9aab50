-- Verify deft:conversations on pg
SELECT id, user_id, parent_id, runtime_kind, runtime_session, title, spec, secrets, execution_status,
       stats, agent_state, last_user_message_id, snapshot_version, wanted_at, stop_requested,
       lease_owner, lease_fence, lease_expires_at, claim_count, created_at, updated_at
  FROM conversations WHERE false;
