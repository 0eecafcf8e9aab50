-- Deploy deft_schema:model_outages to pg
BEGIN;

-- Runs that wait until their model is in order again. A row is of the run that was wanted at wanted_at, and over as soon
-- as the agent has an event after asked_seq; until its next outage nothing removes it.
CREATE TABLE IF NOT EXISTS model_outages (
    conversation_id uuid PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    wanted_at       timestamptz NOT NULL, -- of the run
    began_at        timestamptz NOT NULL, -- when its retries had failed
    next_at         timestamptz NOT NULL, -- of the next attempt
    n_waits         bigint NOT NULL CHECK (n_waits > 0), -- in this outage
    asked_seq       bigint NOT NULL, -- the newest event that the model was to read; a newer one ends the wait
    reason          text NOT NULL    -- for the user
);
REVOKE ALL ON model_outages FROM deft_gateway, deft_runtime, deft_fcgi;
GRANT SELECT ON model_outages TO deft_fcgi;
REVOKE DELETE ON model_outages FROM deft_worker;

COMMIT;
