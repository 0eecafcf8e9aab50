-- Deploy deft_schema:spending to pg
BEGIN;

-- What model calls have cost, for budgets per user and per day; of conversations that are deleted, too. A row per
-- conversation, so that the runs of one user do not wait for each other.
CREATE TABLE IF NOT EXISTS spending (
    user_id         uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    day             date NOT NULL, -- UTC
    conversation_id uuid NOT NULL, -- not a reference
    cost_nanos      bigint NOT NULL CHECK (cost_nanos >= 0), -- billionths of a US dollar
    PRIMARY KEY (user_id, day, conversation_id)
);
REVOKE ALL ON spending FROM deft_gateway, deft_runtime, deft_fcgi;
GRANT SELECT ON spending TO deft_fcgi;
REVOKE DELETE ON spending FROM deft_worker;

-- Other limits than the instance's, for one user: US cents, 0 for none.
ALTER TABLE users
    ADD COLUMN IF NOT EXISTS budget_cents bigint CHECK (budget_cents >= 0),
    ADD COLUMN IF NOT EXISTS daily_budget_cents bigint CHECK (daily_budget_cents >= 0);

-- By how much users have raised their own budget of a day.
CREATE TABLE IF NOT EXISTS budget_extensions (
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    day          date NOT NULL, -- UTC
    amount_nanos bigint NOT NULL CHECK (amount_nanos > 0),
    PRIMARY KEY (user_id, day)
);
REVOKE ALL ON budget_extensions FROM deft_gateway, deft_runtime, deft_worker;
GRANT SELECT ON budget_extensions TO deft_worker;
REVOKE DELETE ON budget_extensions FROM deft_fcgi;

COMMIT;
