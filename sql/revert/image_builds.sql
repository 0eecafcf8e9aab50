-- Revert deft:image_builds from pg
BEGIN;

DROP TABLE image_builds;

COMMIT;
