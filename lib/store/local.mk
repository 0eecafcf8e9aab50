# lib/store: everything kept in PostgreSQL; the only C with SQL in it
noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	lib/store/runtime/admin_store.c lib/store/runtime/admin_store.h \
	lib/store/conversation/branch_store.c lib/store/conversation/branch_store.h \
	lib/store/runtime/build_store.c lib/store/runtime/build_store.h \
	lib/store/conversation/checkpoint_store.c lib/store/conversation/checkpoint_store.h \
	lib/store/conversation/condensed_view_store.c lib/store/conversation/condensed_view_store.h \
	lib/store/conversation/conversation_claim.c \
	lib/store/conversation/conversation_create.c \
	lib/store/conversation/run_watch.c lib/store/conversation/run_watch.h \
	lib/store/conversation/conversation_insert.c lib/store/conversation/conversation_insert.h \
	lib/store/conversation/conversation_post.c lib/store/conversation/conversation_post.h \
	lib/store/conversation/conversation_page_sql.h \
	lib/store/conversation/conversation_row.c lib/store/conversation/conversation_row.h \
	lib/store/conversation/conversation_store.c lib/store/conversation/conversation_store.h \
	lib/store/conversation/conversation_write.c lib/store/conversation/conversation_write.h \
	lib/store/db/db.c lib/store/db/db.h \
	lib/store/db/db_async.c lib/store/db/db_async.h lib/store/db/async_statement.h \
	lib/store/db/db_query.h lib/store/db/db_value.c \
	lib/store/db/async_query.c lib/store/db/async_query.h \
	lib/store/user/document_store.c lib/store/user/document_store.h \
	lib/store/runtime/egress_store.c lib/store/runtime/egress_store.h \
	lib/store/conversation/event_insert.c lib/store/conversation/event_insert.h \
	lib/store/conversation/event_row.h lib/store/conversation/open_calls_query.h \
	lib/store/conversation/event_store.c lib/store/conversation/event_store.h \
	lib/store/conversation/stored_event.c lib/store/conversation/stored_event.h \
	lib/store/db/db_hint.c lib/store/db/db_hint.h lib/store/db/hints.c lib/store/db/hints.h \
	lib/store/conversation/info_store.c lib/store/conversation/info_store.h \
	lib/store/user/init_store.c lib/store/user/init_store.h \
	lib/store/conversation/job_insert.h \
	lib/store/conversation/job_store.c lib/store/conversation/job_store.h \
	lib/store/db/async_listen.c lib/store/db/async_listen.h \
	lib/store/conversation/async_post.c lib/store/conversation/async_post.h \
	lib/store/conversation/async_store.c lib/store/conversation/async_store.h \
	lib/store/user/mcp_grant_store.c lib/store/user/mcp_grant_store.h \
	lib/store/user/mcp_sign_in_store.c lib/store/user/mcp_sign_in_store.h \
	lib/store/user/preview_store.c lib/store/user/preview_store.h \
	lib/store/user/profile_store.c lib/store/user/profile_store.h \
	lib/store/conversation/outage_sql.h \
	lib/store/conversation/outage_store.c lib/store/conversation/outage_store.h \
	lib/store/conversation/run_hold.c lib/store/conversation/run_hold.h \
	lib/store/conversation/run_quota.h \
	lib/store/runtime/runtime_row.h \
	lib/store/runtime/runtime_count_store.c lib/store/runtime/runtime_count_store.h \
	lib/store/runtime/runtime_key_store.c lib/store/runtime/runtime_key_store.h \
	lib/store/runtime/refusal_store.c lib/store/runtime/refusal_store.h \
	lib/store/runtime/idle_store.c lib/store/runtime/idle_store.h \
	lib/store/runtime/runtime_store.c lib/store/runtime/runtime_store.h \
	lib/store/runtime/sandbox_store.c lib/store/runtime/sandbox_store.h \
	lib/store/user/spending_store.c lib/store/user/spending_store.h \
	lib/store/user/secret_read_store.c lib/store/user/secret_read_store.h \
	lib/store/user/settings_store.c lib/store/user/settings_store.h \
	lib/store/conversation/task_store.c lib/store/conversation/task_store.h \
	lib/store/user/user_store.c lib/store/user/user_store.h \
	lib/store/conversation/waiting_calls.c lib/store/conversation/waiting_calls.h \
	lib/store/runtime/warm_config_store.c lib/store/runtime/warm_config_store.h \
	lib/store/runtime/warm_store.c lib/store/runtime/warm_store.h \
	lib/store/db/notify_wait.c lib/store/db/notify_wait.h \
	lib/store/conversation/webhook_sql.h lib/store/conversation/webhook_store.c lib/store/conversation/webhook_store.h
libstore_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PQ_CFLAGS)

STORE_LIBS = libstore.a $(PQ_LIBS)

# Each has a PostgreSQL of its own.
STORE_TESTS = \
	tests/unit/store/async_post_test \
	tests/unit/store/async_store_test \
	tests/unit/store/branch_store_test \
	tests/unit/store/build_store_test \
	tests/unit/store/checkpoint_store_test \
	tests/unit/store/condensed_view_store_test \
	tests/unit/store/conversation_delete_test \
	tests/unit/store/conversation_lease_test \
	tests/unit/store/conversation_store_test \
	tests/unit/store/conversation_tree_test \
	tests/unit/store/conversation_write_test \
	tests/unit/store/db_async_test \
	tests/unit/store/db_test \
	tests/unit/store/db_value_test \
	tests/unit/store/document_store_test \
	tests/unit/store/egress_store_test \
	tests/unit/store/event_store_test \
	tests/unit/store/hints_test \
	tests/unit/store/idle_store_test \
	tests/unit/store/info_members_test \
	tests/unit/store/info_store_test \
	tests/unit/store/job_store_test \
	tests/unit/store/mcp_grant_store_test \
	tests/unit/store/mcp_sign_in_store_test \
	tests/unit/store/outage_store_test \
	tests/unit/store/preview_store_test \
	tests/unit/store/profile_store_test \
	tests/unit/store/refusal_store_test \
	tests/unit/store/run_queue_test \
	tests/unit/store/run_watch_test \
	tests/unit/store/runtime_state_test \
	tests/unit/store/runtime_store_test \
	tests/unit/store/sandbox_store_test \
	tests/unit/store/schema_test \
	tests/unit/store/secret_read_store_test \
	tests/unit/store/settings_store_test \
	tests/unit/store/stored_event_test \
	tests/unit/store/task_store_test \
	tests/unit/store/user_keys_test \
	tests/unit/store/user_store_test \
	tests/unit/store/waiting_calls_test \
	tests/unit/store/warm_config_store_test \
	tests/unit/store/warm_store_test \
	tests/unit/store/webhook_limits_test \
	tests/unit/store/webhook_store_test \
	tests/unit/store/write_guard_test \
	tests/unit/store/write_hints_test
STORE_TEST_FIXTURE = tests/unit/store/store_fixture.h
STORE_HINT_FIXTURE = tests/unit/store/hint_fixture.h $(STORE_TEST_FIXTURE)
STORE_LOG_FIXTURE = tests/unit/store/conversation/log_fixture.h $(STORE_TEST_FIXTURE)
STORE_TEST_CPPFLAGS = $(TEST_CPPFLAGS) $(PQ_CFLAGS)
check_LIBRARIES += libteststore.a
libteststore_a_SOURCES = tests/unit/store/store_fixture.c tests/unit/store/hint_fixture.c \
	tests/unit/store/conversation/log_fixture.c $(STORE_HINT_FIXTURE) $(STORE_LOG_FIXTURE)
libteststore_a_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
STORE_TEST_LIBS = libteststore.a libtestsupport.a libtestcatalogue.a $(STORE_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += $(STORE_TESTS)
tests_unit_store_async_post_test_SOURCES = tests/unit/store/conversation/async_post_test.c $(STORE_HINT_FIXTURE) \
	$(STORE_LOG_FIXTURE)
tests_unit_store_async_post_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_async_post_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_delete_test_SOURCES = tests/unit/store/conversation/conversation_delete_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_delete_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_delete_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_lease_test_SOURCES = tests/unit/store/conversation/conversation_lease_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_lease_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_lease_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_store_test_SOURCES = tests/unit/store/conversation/conversation_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_db_test_SOURCES = tests/unit/store/db/db_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_db_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_db_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_document_store_test_SOURCES = tests/unit/store/user/document_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_document_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_document_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_egress_store_test_SOURCES = tests/unit/store/runtime/egress_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_egress_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_egress_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_checkpoint_store_test_SOURCES = tests/unit/store/conversation/checkpoint_store_test.c $(STORE_LOG_FIXTURE)
tests_unit_store_checkpoint_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_checkpoint_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_condensed_view_store_test_SOURCES = tests/unit/store/conversation/condensed_view_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_condensed_view_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_condensed_view_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_event_store_test_SOURCES = tests/unit/store/conversation/event_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_event_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_event_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_schema_test_SOURCES = tests/unit/store/db/schema_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_schema_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_schema_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_hints_test_SOURCES = tests/unit/store/db/hints_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_hints_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_hints_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_info_store_test_SOURCES = tests/unit/store/conversation/info_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_info_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_info_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_mcp_grant_store_test_SOURCES = tests/unit/store/user/mcp_grant_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_mcp_grant_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_mcp_grant_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_mcp_sign_in_store_test_SOURCES = tests/unit/store/user/mcp_sign_in_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_mcp_sign_in_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_mcp_sign_in_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_outage_store_test_SOURCES = tests/unit/store/conversation/outage_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_outage_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_outage_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_stored_event_test_SOURCES = tests/unit/store/conversation/stored_event_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_stored_event_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_stored_event_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_preview_store_test_SOURCES = tests/unit/store/user/preview_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_preview_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_preview_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_refusal_store_test_SOURCES = tests/unit/store/runtime/refusal_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_refusal_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_refusal_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_runtime_store_test_SOURCES = tests/unit/store/runtime/runtime_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_runtime_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_runtime_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_sandbox_store_test_SOURCES = tests/unit/store/runtime/sandbox_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_sandbox_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_sandbox_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_task_store_test_SOURCES = tests/unit/store/conversation/task_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_task_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_task_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_user_store_test_SOURCES = tests/unit/store/user/user_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_user_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_user_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_webhook_store_test_SOURCES = tests/unit/store/conversation/webhook_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_webhook_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_webhook_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_warm_store_test_SOURCES = tests/unit/store/runtime/warm_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_warm_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_warm_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_write_hints_test_SOURCES = tests/unit/store/conversation/write_hints_test.c $(STORE_HINT_FIXTURE)
tests_unit_store_write_hints_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_write_hints_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_write_guard_test_SOURCES = tests/unit/store/conversation/write_guard_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_write_guard_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_write_guard_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_build_store_test_SOURCES = tests/unit/store/runtime/build_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_build_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_build_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_idle_store_test_SOURCES = tests/unit/store/runtime/idle_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_idle_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_idle_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_warm_config_store_test_SOURCES = tests/unit/store/runtime/warm_config_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_warm_config_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_warm_config_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_async_store_test_SOURCES = tests/unit/store/conversation/async_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_async_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_async_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_job_store_test_SOURCES = tests/unit/store/conversation/job_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_job_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_job_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_secret_read_store_test_SOURCES = tests/unit/store/user/secret_read_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_secret_read_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_secret_read_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_profile_store_test_SOURCES = tests/unit/store/user/profile_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_profile_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_profile_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_settings_store_test_SOURCES = tests/unit/store/user/settings_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_settings_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_settings_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_user_keys_test_SOURCES = tests/unit/store/user/user_keys_test.c $(STORE_HINT_FIXTURE)
tests_unit_store_user_keys_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_user_keys_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_runtime_state_test_SOURCES = tests/unit/store/runtime/runtime_state_test.c $(STORE_HINT_FIXTURE)
tests_unit_store_runtime_state_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_runtime_state_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_db_async_test_SOURCES = tests/unit/store/db/db_async_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_db_async_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_db_async_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_db_value_test_SOURCES = tests/unit/store/db/db_value_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_db_value_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_db_value_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_branch_store_test_SOURCES = tests/unit/store/conversation/branch_store_test.c $(STORE_LOG_FIXTURE)
tests_unit_store_branch_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_branch_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_waiting_calls_test_SOURCES = tests/unit/store/conversation/waiting_calls_test.c $(STORE_LOG_FIXTURE)
tests_unit_store_waiting_calls_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_waiting_calls_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_run_watch_test_SOURCES = tests/unit/store/conversation/run_watch_test.c $(STORE_LOG_FIXTURE)
tests_unit_store_run_watch_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_run_watch_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_run_queue_test_SOURCES = tests/unit/store/conversation/run_queue_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_run_queue_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_run_queue_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_tree_test_SOURCES = tests/unit/store/conversation/conversation_tree_test.c $(STORE_LOG_FIXTURE)
tests_unit_store_conversation_tree_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_tree_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_webhook_limits_test_SOURCES = tests/unit/store/conversation/webhook_limits_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_webhook_limits_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_webhook_limits_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_write_test_SOURCES = tests/unit/store/conversation/conversation_write_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_write_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_write_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_info_members_test_SOURCES = tests/unit/store/conversation/info_members_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_info_members_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_info_members_test_LDADD = $(STORE_TEST_LIBS)
