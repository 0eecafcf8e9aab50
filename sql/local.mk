# sql: the sqitch project, installed whole
SQL_FILES = \
	sql/sqitch.conf sql/sqitch.plan \
	sql/deploy/admin_logins.sql sql/deploy/branches.sql sql/deploy/conversation_infos.sql sql/deploy/conversation_lists.sql sql/deploy/conversation_times.sql sql/deploy/conversations.sql \
	sql/deploy/documents.sql sql/deploy/egress_policies.sql sql/deploy/egress_refusals.sql sql/deploy/event_times.sql sql/deploy/events.sql sql/deploy/held_sandboxes.sql \
	sql/deploy/image_builds.sql sql/deploy/job_results.sql sql/deploy/jobs.sql sql/deploy/mcp_sign_ins.sql sql/deploy/previews.sql sql/deploy/roles.sql \
	sql/deploy/run_slots.sql sql/deploy/runtime_keys.sql sql/deploy/runtime_rest.sql sql/deploy/runtimes.sql sql/deploy/sandbox_proofs.sql sql/deploy/sandboxes.sql sql/deploy/secret_read_lists.sql sql/deploy/secret_reads.sql sql/deploy/server_init.sql \
	sql/deploy/sign_in_expiries.sql sql/deploy/sub_agents.sql sql/deploy/users.sql sql/deploy/warm_configs.sql sql/deploy/warm_sandboxes.sql sql/deploy/webhooks.sql \
	sql/revert/admin_logins.sql sql/revert/branches.sql sql/revert/conversation_infos.sql sql/revert/conversation_lists.sql sql/revert/conversation_times.sql sql/revert/conversations.sql \
	sql/revert/documents.sql sql/revert/egress_policies.sql sql/revert/egress_refusals.sql sql/revert/event_times.sql sql/revert/events.sql sql/revert/held_sandboxes.sql \
	sql/revert/image_builds.sql sql/revert/job_results.sql sql/revert/jobs.sql sql/revert/mcp_sign_ins.sql sql/revert/previews.sql sql/revert/roles.sql \
	sql/revert/run_slots.sql sql/revert/runtime_keys.sql sql/revert/runtime_rest.sql sql/revert/runtimes.sql sql/revert/sandbox_proofs.sql sql/revert/sandboxes.sql sql/revert/secret_read_lists.sql sql/revert/secret_reads.sql sql/revert/server_init.sql \
	sql/revert/sign_in_expiries.sql sql/revert/sub_agents.sql sql/revert/users.sql sql/revert/warm_configs.sql sql/revert/warm_sandboxes.sql sql/revert/webhooks.sql \
	sql/verify/admin_logins.sql sql/verify/branches.sql sql/verify/conversation_infos.sql sql/verify/conversation_lists.sql sql/verify/conversation_times.sql sql/verify/conversations.sql \
	sql/verify/documents.sql sql/verify/egress_policies.sql sql/verify/egress_refusals.sql sql/verify/event_times.sql sql/verify/events.sql sql/verify/held_sandboxes.sql \
	sql/verify/image_builds.sql sql/verify/job_results.sql sql/verify/jobs.sql sql/verify/mcp_sign_ins.sql sql/verify/previews.sql sql/verify/roles.sql \
	sql/verify/run_slots.sql sql/verify/runtime_keys.sql sql/verify/runtime_rest.sql sql/verify/runtimes.sql sql/verify/sandbox_proofs.sql sql/verify/sandboxes.sql sql/verify/secret_read_lists.sql sql/verify/secret_reads.sql sql/verify/server_init.sql \
	sql/verify/sign_in_expiries.sql sql/verify/sub_agents.sql sql/verify/users.sql sql/verify/warm_configs.sql sql/verify/warm_sandboxes.sql sql/verify/webhooks.sql
nobase_dist_pkgdata_DATA = $(SQL_FILES)
