# lib/store: everything kept in PostgreSQL; the only C with SQL in it
noinst_LIBRARIES += libstore.a
libstore_a_SOURCES = \
	lib/store/admin_store.c lib/store/admin_store.h \
	lib/store/branch_store.c lib/store/branch_store.h \
	lib/store/build_store.c lib/store/build_store.h \
	lib/store/conversation_claim.c \
	lib/store/conversation_create.c \
	lib/store/conversation_insert.c lib/store/conversation_insert.h \
	lib/store/conversation_post.c lib/store/conversation_post.h \
	lib/store/conversation_page_sql.h \
	lib/store/conversation_row.c lib/store/conversation_row.h \
	lib/store/conversation_store.c lib/store/conversation_store.h \
	lib/store/conversation_write.c lib/store/conversation_write.h \
	lib/store/db.c lib/store/db.h \
	lib/store/db_pipe.c lib/store/db_pipe.h lib/store/db_pipe_query.h \
	lib/store/db_query.h lib/store/db_value.c \
	lib/store/db_ticket.c lib/store/db_ticket.h \
	lib/store/document_store.c lib/store/document_store.h \
	lib/store/egress_store.c lib/store/egress_store.h \
	lib/store/event_arrays.c lib/store/event_arrays.h \
	lib/store/event_row.h lib/store/open_calls_query.h \
	lib/store/event_store.c lib/store/event_store.h \
	lib/store/hints.c lib/store/hints.h \
	lib/store/info_store.c lib/store/info_store.h \
	lib/store/init_store.c lib/store/init_store.h \
	lib/store/job_insert.h \
	lib/store/job_store.c lib/store/job_store.h \
	lib/store/live_listen.c lib/store/live_listen.h \
	lib/store/live_post.c lib/store/live_post.h \
	lib/store/live_store.c lib/store/live_store.h \
	lib/store/mcp_sign_in_store.c lib/store/mcp_sign_in_store.h \
	lib/store/preview_store.c lib/store/preview_store.h \
	lib/store/profile_store.c lib/store/profile_store.h \
	lib/store/run_room.h \
	lib/store/runtime_row.h \
	lib/store/runtime_count_store.c lib/store/runtime_count_store.h \
	lib/store/runtime_key_store.c lib/store/runtime_key_store.h \
	lib/store/refusal_store.c lib/store/refusal_store.h \
	lib/store/rest_store.c lib/store/rest_store.h \
	lib/store/runtime_store.c lib/store/runtime_store.h \
	lib/store/sandbox_store.c lib/store/sandbox_store.h \
	lib/store/secret_read_store.c lib/store/secret_read_store.h \
	lib/store/task_store.c lib/store/task_store.h \
	lib/store/user_store.c lib/store/user_store.h \
	lib/store/waiting_calls.c lib/store/waiting_calls.h \
	lib/store/warm_config_store.c lib/store/warm_config_store.h \
	lib/store/warm_store.c lib/store/warm_store.h \
	lib/store/watch.c lib/store/watch.h \
	lib/store/webhook_sql.h lib/store/webhook_store.c lib/store/webhook_store.h
libstore_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PQ_CFLAGS)

STORE_LIBS = libstore.a $(PQ_LIBS)

# Each has a PostgreSQL of its own.
STORE_TESTS = \
	tests/unit/store/conversation_delete_test \
	tests/unit/store/conversation_lease_test \
	tests/unit/store/conversation_store_test \
	tests/unit/store/db_test \
	tests/unit/store/document_store_test \
	tests/unit/store/egress_store_test \
	tests/unit/store/event_store_test \
	tests/unit/store/hints_test \
	tests/unit/store/info_store_test \
	tests/unit/store/mcp_sign_in_store_test \
	tests/unit/store/refusal_store_test \
	tests/unit/store/runtime_store_test \
	tests/unit/store/task_store_test \
	tests/unit/store/user_store_test \
	tests/unit/store/warm_store_test \
	tests/unit/store/webhook_store_test
STORE_TEST_FIXTURE = tests/unit/store/store_fixture.c tests/unit/store/store_fixture.h
STORE_TEST_CPPFLAGS = $(TEST_CPPFLAGS) $(PQ_CFLAGS)
STORE_TEST_LIBS = libtestsupport.a $(STORE_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += $(STORE_TESTS)
tests_unit_store_conversation_delete_test_SOURCES = tests/unit/store/conversation_delete_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_delete_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_delete_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_lease_test_SOURCES = tests/unit/store/conversation_lease_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_lease_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_lease_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_conversation_store_test_SOURCES = tests/unit/store/conversation_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_conversation_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_conversation_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_db_test_SOURCES = tests/unit/store/db_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_db_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_db_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_document_store_test_SOURCES = tests/unit/store/document_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_document_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_document_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_egress_store_test_SOURCES = tests/unit/store/egress_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_egress_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_egress_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_event_store_test_SOURCES = tests/unit/store/event_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_event_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_event_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_hints_test_SOURCES = tests/unit/store/hints_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_hints_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_hints_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_info_store_test_SOURCES = tests/unit/store/info_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_info_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_info_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_mcp_sign_in_store_test_SOURCES = tests/unit/store/mcp_sign_in_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_mcp_sign_in_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_mcp_sign_in_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_refusal_store_test_SOURCES = tests/unit/store/refusal_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_refusal_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_refusal_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_runtime_store_test_SOURCES = tests/unit/store/runtime_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_runtime_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_runtime_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_task_store_test_SOURCES = tests/unit/store/task_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_task_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_task_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_user_store_test_SOURCES = tests/unit/store/user_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_user_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_user_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_webhook_store_test_SOURCES = tests/unit/store/webhook_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_webhook_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_webhook_store_test_LDADD = $(STORE_TEST_LIBS)
tests_unit_store_warm_store_test_SOURCES = tests/unit/store/warm_store_test.c $(STORE_TEST_FIXTURE)
tests_unit_store_warm_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_unit_store_warm_store_test_LDADD = $(STORE_TEST_LIBS)
