-- Revert deft_schema:previews from pg
BEGIN;
DROP TABLE preview_sessions, preview_passes;
COMMIT;
