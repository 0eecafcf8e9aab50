-- Verify deft_schema:spending on pg
SELECT user_id, day, conversation_id, cost_nanos FROM spending WHERE false;
SELECT budget_cents, daily_budget_cents FROM users WHERE false;
SELECT user_id, day, amount_nanos FROM budget_extensions WHERE false;
