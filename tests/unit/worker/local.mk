# Tests of the worker
check_LIBRARIES += libworkertest.a
libworkertest_a_SOURCES = \
	tests/unit/worker/events.c tests/unit/worker/events.h \
	tests/unit/worker/run_fixture.c tests/unit/worker/run_fixture.h \
	tests/unit/worker/stub_sandbox.c tests/unit/worker/stub_sandbox.h \
	tests/unit/worker/stub_control.c tests/unit/worker/stub_state.h \
	tests/unit/worker/subscriber.c tests/unit/worker/subscriber.h
libworkertest_a_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)

WORKER_TEST_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)
WORKER_TEST_LIBS = libworkertest.a libworker.a libtestsupport.a libtestcatalogue.a $(START_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(LLM_LIBS) \
	$(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += \
	worker_test worker_agent_test worker_budget_run_test worker_calls_at_once_test worker_checkpoint_run_test worker_child_run_test worker_delivery_test worker_hooks_test worker_jobs_test worker_mcp_test worker_pool_test worker_process_test worker_run_test worker_sender_test worker_step_test \
	worker_worktree_job_test
worker_test_SOURCES = \
	tests/unit/worker/core/run_control_test.c \
	tests/unit/worker/core/database_retry_test.c \
	tests/unit/worker/calls/call_plan_test.c \
	tests/unit/worker/core/event_size_test.c \
	tests/unit/worker/core/history_test.c \
	tests/unit/worker/core/secret_list_test.c \
	tests/unit/worker/core/message_forms_test.c \
	tests/unit/worker/core/messages_test.c \
	tests/unit/worker/core/model_test.c \
	tests/unit/worker/sandbox/observation_test.c \
	tests/unit/worker/llm/policy_test.c \
	tests/unit/worker/llm/vision_test.c \
	tests/unit/worker/stuck_test.c \
	tests/unit/worker/sandbox/takeover_test.c \
	tests/unit/worker/tools/invoke_skill_test.c \
	tests/unit/worker/tools/task_tracker_test.c \
	tests/unit/worker/tools/worker_tool_test.c \
	tests/unit/worker/webhooks/receivers_test.c \
	tests/unit/worker/core/model_view_test.c \
	tests/unit/worker/core/token_gauge_test.c \
	tests/unit/worker/worker_test.c \
	tests/unit/worker/worker_test.h
worker_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_test_LDADD = $(WORKER_TEST_LIBS)
worker_agent_test_SOURCES = \
	tests/unit/worker/agent_test.c tests/unit/worker/agent_test.h \
	tests/unit/worker/calls/pending_call_test.c \
	tests/unit/worker/core/condensed_history_test.c \
	tests/unit/worker/core/event_writer_test.c \
	tests/unit/worker/delta_outbox_test.c \
	tests/unit/worker/sandbox/hook_reading_test.c \
	tests/unit/worker/sandbox/project_reading_fixture.c tests/unit/worker/sandbox/project_reading_fixture.h \
	tests/unit/worker/sandbox/project_reading_test.c \
	tests/unit/worker/sandbox/sandbox_call_test.c \
	tests/unit/worker/sandbox/sandbox_http_test.c \
	tests/unit/worker/sandbox/sandbox_test.c
worker_agent_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_agent_test_LDADD = libtestserver.a libllmfixture.a $(WORKER_TEST_LIBS)
worker_run_test_SOURCES = tests/unit/worker/run_test.c
worker_run_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_run_test_LDADD = $(WORKER_TEST_LIBS)
worker_checkpoint_run_test_SOURCES = tests/unit/worker/checkpoint_run_test.c
worker_checkpoint_run_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_checkpoint_run_test_LDADD = $(WORKER_TEST_LIBS)
worker_calls_at_once_test_SOURCES = tests/unit/worker/calls_at_once_test.c
worker_calls_at_once_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_calls_at_once_test_LDADD = $(WORKER_TEST_LIBS)
worker_budget_run_test_SOURCES = tests/unit/worker/budget_run_test.c
worker_budget_run_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_budget_run_test_LDADD = $(WORKER_TEST_LIBS)
worker_child_run_test_SOURCES = tests/unit/worker/child_run_test.c
worker_child_run_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_child_run_test_LDADD = $(WORKER_TEST_LIBS)
worker_worktree_job_test_SOURCES = tests/unit/worker/worktree_job_test.c
worker_worktree_job_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_worktree_job_test_LDADD = $(WORKER_TEST_LIBS)
worker_delivery_test_SOURCES = tests/unit/worker/webhooks/delivery_test.c
worker_delivery_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_delivery_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_hooks_test_SOURCES = \
	tests/unit/worker/hooks/call_hooks_test.c \
	tests/unit/worker/hooks/child_hooks_test.c \
	tests/unit/worker/hooks/hook_model_test.c \
	tests/unit/worker/hooks/hook_request_test.c \
	tests/unit/worker/hooks/hook_run_test.c \
	tests/unit/worker/hooks/hooks_test.c tests/unit/worker/hooks/hooks_test.h \
	tests/unit/worker/hooks/message_hooks_test.c \
	tests/unit/worker/hooks/stop_hooks_test.c
worker_hooks_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_hooks_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_jobs_test_SOURCES = \
	tests/unit/worker/jobs/ask_agent_test.c \
	tests/unit/worker/jobs/condense_test.c \
	tests/unit/worker/jobs/goal_test.c \
	tests/unit/worker/jobs/job_conversation_test.c \
	tests/unit/worker/jobs/job_fixture.c tests/unit/worker/jobs/job_fixture.h \
	tests/unit/worker/jobs/job_test.c \
	tests/unit/worker/jobs/jobs_test.c tests/unit/worker/jobs/jobs_test.h \
	tests/unit/worker/jobs/title_test.c
worker_jobs_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_jobs_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_mcp_test_SOURCES = \
	tests/unit/worker/mcp/mcp_test.c tests/unit/worker/mcp/mcp_test.h \
	tests/unit/worker/mcp/called.c tests/unit/worker/mcp/called.h \
	tests/unit/worker/mcp/project_servers_test.c \
	tests/unit/worker/mcp/ended_sessions_test.c \
	tests/unit/worker/mcp/program_call_test.c \
	tests/unit/worker/mcp/program_progress_test.c \
	tests/unit/worker/mcp/server_call_test.c \
	tests/unit/worker/mcp/server_listing_test.c \
	tests/unit/worker/mcp/server_progress_test.c \
	tests/unit/worker/mcp/server_token_test.c \
	tests/unit/worker/mcp/stream_call_test.c \
	tests/unit/worker/mcp/variables_test.c
worker_mcp_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_mcp_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_pool_test_SOURCES = tests/unit/worker/pool_test.c
worker_pool_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_pool_test_LDADD = $(WORKER_TEST_LIBS)
worker_sender_test_SOURCES = tests/unit/worker/webhooks/sender_test.c
worker_sender_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_sender_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_step_test_SOURCES = \
	tests/unit/worker/step_test.c tests/unit/worker/step_test.h \
	tests/unit/worker/calls/run_end_test.c \
	tests/unit/worker/calls/delegate_call_test.c \
	tests/unit/worker/calls/start_child_test.c \
	tests/unit/worker/calls/task_call_test.c \
	tests/unit/worker/crash_points_test.c \
	tests/unit/worker/core/secret_lookup_test.c \
	tests/unit/worker/llm/llm_response_test.c \
	tests/unit/worker/llm/condense_test.c \
	tests/unit/worker/llm/delta_stream_test.c \
	tests/unit/worker/llm/risk_query_test.c \
	tests/unit/worker/llm/fallback_test.c \
	tests/unit/worker/llm/llm_step_test.c \
	tests/unit/worker/llm/outage_test.c \
	tests/unit/worker/llm/summary_test.c \
	tests/unit/worker/loop_test.c \
	tests/unit/worker/calls/pending_result_test.c \
	tests/unit/worker/sandbox/sandbox_address_test.c
worker_step_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS)
worker_step_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
worker_process_test_SOURCES = tests/unit/worker/process_test.c \
	tests/unit/support/program.c tests/unit/support/program.h
worker_process_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS) -DDEFT_WORKER='"$(abs_top_builddir)/deft-worker"'
worker_process_test_LDADD = libtestserver.a $(WORKER_TEST_LIBS)
EXTRA_worker_process_test_DEPENDENCIES = deft-worker$(EXEEXT)
