-- Verify deft_schema:model_outages on pg
SELECT conversation_id, wanted_at, began_at, next_at, n_waits, asked_seq, reason FROM model_outages WHERE false;
