-- Deploy deft_schema:condensed_views to pg
BEGIN;

-- Which events of a long conversation a run still needs after its newest Condensation. Derived from the log: a
-- conversation without a row, or whose newest branch is another, is loaded whole.
CREATE TABLE condensed_views (
    conversation_id uuid PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    seq             bigint NOT NULL, -- of the Condensation
    branch_seq      bigint NOT NULL, -- from_seq of the newest branch when the log was read; 0: none
    parent_seq      bigint NOT NULL, -- of the same branch
    state           text COMPRESSION lz4 NOT NULL -- JSON: lib/store/conversation/condensed_view_store.c
);
REVOKE ALL ON condensed_views FROM deft_fcgi, deft_gateway, deft_runtime;
REVOKE DELETE ON condensed_views FROM deft_worker;

COMMIT;
