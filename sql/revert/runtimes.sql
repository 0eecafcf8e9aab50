-- Revert deft_schema:runtimes from pg
BEGIN;
DROP TABLE admin_logins, egress_refusals, image_builds, warm_configs, warm_sandboxes, runtimes, runtime_keys;
COMMIT;
