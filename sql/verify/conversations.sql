-- Verify deft_schema:conversations on pg
SELECT id, user_id, parent_id, runtime_kind, runtime_session, title, spec, secrets,
       execution_status, stats, agent_state, last_user_message_id, snapshot_version, wanted_at,
       stop_requested, lease_owner, lease_fence, lease_expires_at, claim_count, created_at,
       updated_at, is_sub_agent, spec_info, leaf_event_id, is_leaf_known FROM
       conversations WHERE false;
SELECT conversation_id, from_seq, parent_seq FROM branches WHERE false;
SELECT has_function_privilege('conversations_forget_spec_info()', 'execute');
