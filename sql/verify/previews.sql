-- Verify deft_schema:previews on pg
SELECT token_hash, state_hash, session_id, runtime_id, port, expires_at FROM preview_passes WHERE
       false;
SELECT token_hash, session_id, runtime_id, port, expires_at FROM preview_sessions WHERE false;
