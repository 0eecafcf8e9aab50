-- Deploy deft:conversation_infos to pg
BEGIN;

-- What lists send of each conversation, kept as it is sent. NULL, and a leaf that is not known: who reads the row
-- completes it. A worker that has the conversation appends events without the row, so the leaf is unknown from a
-- claim to the run's end.
ALTER TABLE conversations
    ADD COLUMN IF NOT EXISTS spec_info     text COMPRESSION lz4, -- JSON: what ConversationInfo shows of spec
    ADD COLUMN IF NOT EXISTS leaf_event_id uuid,                 -- newest event that is no state update; NULL when there is none
    ADD COLUMN IF NOT EXISTS is_leaf_known boolean NOT NULL DEFAULT false;

-- No writer of the specification can leave a text behind that was made of the one before.
CREATE OR REPLACE FUNCTION conversations_forget_spec_info() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.spec_info := NULL;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER conversations_spec_info BEFORE UPDATE OF spec ON conversations
    FOR EACH ROW WHEN (NEW.spec IS DISTINCT FROM OLD.spec AND NEW.spec_info IS NOT DISTINCT FROM OLD.spec_info)
    EXECUTE FUNCTION conversations_forget_spec_info();

COMMIT;
