-- Verify deft_schema:condensed_views on pg
SELECT conversation_id, seq, branch_seq, parent_seq, state FROM condensed_views WHERE false;
