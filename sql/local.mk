# sql: the sqitch project, and the plan before it (old), installed whole
SQL_FILES = \
	sql/migrate.sh sql/sqitch.conf sql/sqitch.plan sql/old/sqitch.conf sql/old/sqitch.plan \
	sql/deploy/checkpoints.sql sql/deploy/condensed_views.sql sql/deploy/conversations.sql sql/deploy/documents.sql sql/deploy/events.sql sql/deploy/jobs.sql sql/deploy/mcp_grants.sql sql/deploy/model_outages.sql sql/deploy/previews.sql sql/deploy/roles.sql \
	sql/deploy/runtimes.sql sql/deploy/secret_reads.sql sql/deploy/session_jobs.sql sql/deploy/spending.sql sql/deploy/task_waits.sql sql/deploy/users.sql sql/deploy/webhooks.sql \
	sql/revert/checkpoints.sql sql/revert/condensed_views.sql sql/revert/conversations.sql sql/revert/documents.sql sql/revert/events.sql sql/revert/jobs.sql sql/revert/mcp_grants.sql sql/revert/model_outages.sql sql/revert/previews.sql sql/revert/roles.sql \
	sql/revert/runtimes.sql sql/revert/secret_reads.sql sql/revert/session_jobs.sql sql/revert/spending.sql sql/revert/task_waits.sql sql/revert/users.sql sql/revert/webhooks.sql \
	sql/verify/checkpoints.sql sql/verify/condensed_views.sql sql/verify/conversations.sql sql/verify/documents.sql sql/verify/events.sql sql/verify/jobs.sql sql/verify/mcp_grants.sql sql/verify/model_outages.sql sql/verify/previews.sql sql/verify/roles.sql \
	sql/verify/runtimes.sql sql/verify/secret_reads.sql sql/verify/session_jobs.sql sql/verify/spending.sql sql/verify/task_waits.sql sql/verify/users.sql sql/verify/webhooks.sql \
	sql/old/deploy/admin_logins.sql sql/old/deploy/branches.sql sql/old/deploy/conversation_infos.sql sql/old/deploy/conversation_lists.sql sql/old/deploy/conversation_times.sql sql/old/deploy/conversations.sql \
	sql/old/deploy/documents.sql sql/old/deploy/egress_policies.sql sql/old/deploy/egress_refusals.sql sql/old/deploy/event_times.sql sql/old/deploy/events.sql sql/old/deploy/held_sandboxes.sql \
	sql/old/deploy/image_builds.sql sql/old/deploy/job_results.sql sql/old/deploy/jobs.sql sql/old/deploy/mcp_sign_ins.sql sql/old/deploy/previews.sql sql/old/deploy/roles.sql \
	sql/old/deploy/run_slots.sql sql/old/deploy/runtime_keys.sql sql/old/deploy/runtime_rest.sql sql/old/deploy/runtimes.sql sql/old/deploy/sandbox_proofs.sql sql/old/deploy/sandboxes.sql \
	sql/old/deploy/secret_read_lists.sql sql/old/deploy/secret_reads.sql sql/old/deploy/server_init.sql sql/old/deploy/sign_in_expiries.sql sql/old/deploy/state_lists.sql sql/old/deploy/sub_agents.sql \
	sql/old/deploy/users.sql sql/old/deploy/warm_configs.sql sql/old/deploy/warm_sandboxes.sql sql/old/deploy/webhooks.sql
nobase_dist_pkgdata_DATA = $(SQL_FILES)
