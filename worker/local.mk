# worker: conversation loops
bin_PROGRAMS += deft-worker
noinst_LIBRARIES += libworker.a
libworker_a_SOURCES = \
	worker/agent/core/agent.h \
	worker/agent/core/agent_row.c worker/agent/core/agent_row.h \
	worker/agent/agent_run.c worker/agent/agent_run.h \
	worker/agent/llm/llm_response.c worker/agent/llm/llm_response.h \
	worker/agent/llm/risk_query.c worker/agent/llm/risk_query.h \
	worker/agent/llm/risk_question.c worker/agent/llm/risk_question.h \
	worker/agent/llm/fallback.c worker/agent/llm/fallback.h \
	worker/agent/llm/llm_step.c worker/agent/llm/llm_step.h \
	worker/agent/llm/outage.c worker/agent/llm/outage.h \
	worker/agent/core/run_wait.c worker/agent/core/run_wait.h \
	worker/agent/calls/agent_start.c worker/agent/calls/agent_start.h \
	worker/agent/calls/call_batch.c worker/agent/calls/call_batch.h \
	worker/agent/calls/call_plan.c worker/agent/calls/call_plan.h \
	worker/agent/calls/delegate_call.c worker/agent/calls/delegate_call.h \
	worker/agent/calls/pending_call.c worker/agent/calls/pending_call.h \
	worker/agent/llm/condense.c worker/agent/llm/condense.h \
	worker/agent/core/condensed_history.c worker/agent/core/condensed_history.h \
	worker/agent/core/run_control.c worker/agent/core/run_control.h \
	worker/agent/calls/run_end.c worker/agent/calls/run_end.h \
	worker/agent/core/event_size.c worker/agent/core/event_size.h \
	worker/agent/core/history.c worker/agent/core/history.h \
	worker/agent/core/secret_lookup.c worker/agent/core/secret_lookup.h \
	worker/agent/loop.c \
	worker/agent/core/call_action.c worker/agent/core/call_action.h \
	worker/agent/mcp/ended_sessions.c worker/agent/mcp/ended_sessions.h \
	worker/agent/mcp/program_progress.c worker/agent/mcp/program_progress.h \
	worker/agent/mcp/progress_notice.c worker/agent/mcp/progress_notice.h \
	worker/agent/mcp/program_call.c worker/agent/mcp/program_call.h \
	worker/agent/mcp/server_call.c worker/agent/mcp/server_call.h \
	worker/agent/mcp/server_connection.c worker/agent/mcp/server_connection.h \
	worker/agent/mcp/server_connections.c worker/agent/mcp/server_connections.h \
	worker/agent/mcp/server_listing.c worker/agent/mcp/server_listing.h \
	worker/agent/mcp/server_session.c worker/agent/mcp/server_session.h \
	worker/agent/mcp/server_talk.c worker/agent/mcp/server_talk.h \
	worker/agent/mcp/server_thread.c worker/agent/mcp/server_thread.h \
	worker/agent/mcp/server_token.c worker/agent/mcp/server_token.h \
	worker/agent/mcp/variables.c worker/agent/mcp/variables.h \
	worker/agent/core/side_wait.h \
	worker/agent/core/secret_list.c worker/agent/core/secret_list.h \
	worker/agent/core/messages.c worker/agent/core/messages.h \
	worker/agent/core/model.c worker/agent/core/model.h \
	worker/agent/sandbox/observation.c worker/agent/sandbox/observation.h \
	worker/agent/llm/policy.c worker/agent/llm/policy.h \
	worker/agent/query/llm_query.c worker/agent/query/llm_query.h \
	worker/agent/core/database_retry.c worker/agent/core/database_retry.h \
	worker/agent/core/event_writer.c worker/agent/core/event_writer.h \
	worker/agent/sandbox/project_reading.c worker/agent/sandbox/project_reading.h \
	worker/agent/sandbox/server_reading.c worker/agent/sandbox/server_reading.h \
	worker/agent/sandbox/own_action.c worker/agent/sandbox/own_action.h \
	worker/agent/sandbox/sandbox.c worker/agent/sandbox/sandbox.h \
	worker/agent/hooks/call_hooks.c worker/agent/hooks/call_hooks.h \
	worker/agent/hooks/hook_model.c worker/agent/hooks/hook_model.h \
	worker/agent/hooks/hook_tools.c worker/agent/hooks/hook_tools.h \
	worker/agent/hooks/hook_run.c worker/agent/hooks/hook_run.h \
	worker/agent/run_hooks.c worker/agent/run_hooks.h \
	worker/agent/sandbox/sandbox_call.c worker/agent/sandbox/sandbox_call.h \
	worker/agent/sandbox/sandbox_address.c worker/agent/sandbox/sandbox_address.h \
	worker/agent/sandbox/sandbox_http.c worker/agent/sandbox/sandbox_http.h \
	worker/agent/calls/start_child.c worker/agent/calls/start_child.h \
	worker/agent/query/budget.c worker/agent/query/budget.h \
	worker/agent/stuck.c worker/agent/stuck.h \
	worker/agent/llm/summary.c worker/agent/llm/summary.h \
	worker/agent/llm/agent_prompt.c worker/agent/llm/agent_prompt.h \
	worker/agent/llm/hard_reset.c worker/agent/llm/hard_reset.h \
	worker/agent/llm/view_tokens.c worker/agent/llm/view_tokens.h \
	worker/agent/llm/vision.c worker/agent/llm/vision.h \
	worker/agent/run_files.c worker/agent/run_files.h \
	worker/agent/sandbox/checkpoint.c worker/agent/sandbox/checkpoint.h \
	worker/agent/sandbox/checkpoint_copy.c worker/agent/sandbox/checkpoint_copy.h \
	worker/agent/sandbox/takeover.c worker/agent/sandbox/takeover.h \
	worker/agent/calls/sub_agent_budget.c worker/agent/calls/sub_agent_budget.h \
	worker/agent/calls/sub_agent_end.c worker/agent/calls/sub_agent_end.h \
	worker/agent/calls/sub_agent_work.c worker/agent/calls/sub_agent_work.h \
	worker/agent/calls/task_call.c worker/agent/calls/task_call.h \
	worker/agent/calls/task_result.c worker/agent/calls/task_result.h \
	worker/agent/llm/delta_stream.c worker/agent/llm/delta_stream.h \
	worker/agent/core/token_count.c worker/agent/core/token_count.h \
	worker/agent/core/token_gauge.c worker/agent/core/token_gauge.h \
	worker/agent/core/transcript.c worker/agent/core/transcript.h \
	worker/agent/core/model_view.c worker/agent/core/model_view.h \
	worker/context.h \
	worker/jobs/ask_agent.c \
	worker/jobs/condense.c \
	worker/jobs/goal.c \
	worker/jobs/end_sessions.c \
	worker/jobs/job.c worker/jobs/job.h \
	worker/jobs/job_conversation.c worker/jobs/job_conversation.h \
	worker/jobs/job_refusal.c worker/jobs/job_refusal.h \
	worker/jobs/title.c \
	worker/jobs/worktree.c \
	worker/delta_outbox.c worker/delta_outbox.h \
	worker/pool.c worker/pool.h \
	worker/tools/finish.c \
	worker/tools/invoke_skill.c \
	worker/tools/task_tracker.c \
	worker/tools/think.c \
	worker/tools/worker_tool.c worker/tools/worker_tool.h \
	worker/webhooks/delivery.c worker/webhooks/delivery.h \
	worker/webhooks/receivers.c worker/webhooks/receivers.h \
	worker/webhooks/sender.c worker/webhooks/sender.h
libworker_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS)
deft_worker_SOURCES = worker/main.c
deft_worker_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS) \
	-DDEFT_DATA_DIR='"$(pkgdatadir)"'
deft_worker_LDADD = libworker.a $(CONFINE_LIBS) $(START_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) -lpthread
