-- Revert deft_schema:condensed_views from pg
BEGIN;
DROP TABLE condensed_views;
COMMIT;
