-- Revert deft:previews from pg
BEGIN;
DROP TABLE preview_sessions;
DROP TABLE preview_passes;
COMMIT;
