# worker: conversation loops
bin_PROGRAMS += deft-worker
worker_agent_sources = \
	worker/agent/core/agent.h \
	worker/agent/core/conversation_row.c worker/agent/core/conversation_row.h \
	worker/agent/run.c worker/agent/run.h \
	worker/agent/llm/answer.c worker/agent/llm/answer.h \
	worker/agent/llm/ask.c worker/agent/llm/ask.h \
	worker/agent/calls/call.c worker/agent/calls/call.h \
	worker/agent/llm/condense.c worker/agent/llm/condense.h \
	worker/agent/core/control.c worker/agent/core/control.h \
	worker/agent/calls/ending.c worker/agent/calls/ending.h \
	worker/agent/core/fit.c worker/agent/core/fit.h \
	worker/agent/core/history.c worker/agent/core/history.h \
	worker/agent/core/lookup.c worker/agent/core/lookup.h \
	worker/agent/loop.c \
	worker/agent/core/mask.c worker/agent/core/mask.h \
	worker/agent/core/messages.c worker/agent/core/messages.h \
	worker/agent/core/model.c worker/agent/core/model.h \
	worker/agent/sandbox/observation.c worker/agent/sandbox/observation.h \
	worker/agent/llm/policy.c worker/agent/llm/policy.h \
	worker/agent/llm/question.c worker/agent/llm/question.h \
	worker/agent/core/record.c worker/agent/core/record.h \
	worker/agent/sandbox/sandbox.c worker/agent/sandbox/sandbox.h \
	worker/agent/sandbox/sandbox_call.c worker/agent/sandbox/sandbox_call.h \
	worker/agent/sandbox/sandbox_address.c worker/agent/sandbox/sandbox_address.h \
	worker/agent/sandbox/sandbox_question.c worker/agent/sandbox/sandbox_question.h \
	worker/agent/calls/start_child.c worker/agent/calls/start_child.h \
	worker/agent/stuck.c worker/agent/stuck.h \
	worker/agent/llm/summary.c worker/agent/llm/summary.h \
	worker/agent/sandbox/takeover.c worker/agent/sandbox/takeover.h \
	worker/agent/calls/task_call.c worker/agent/calls/task_call.h \
	worker/agent/calls/task_result.c worker/agent/calls/task_result.h \
	worker/agent/llm/telling.c worker/agent/llm/telling.h \
	worker/agent/core/transcript.c worker/agent/core/transcript.h \
	worker/agent/core/view.c worker/agent/core/view.h \
	worker/context.h \
	worker/jobs/ask.c \
	worker/jobs/condense.c \
	worker/jobs/goal.c \
	worker/jobs/job.c worker/jobs/job.h \
	worker/jobs/side.c worker/jobs/side.h \
	worker/jobs/title.c \
	worker/outbox.c worker/outbox.h \
	worker/pool.c worker/pool.h \
	worker/tools/finish.c \
	worker/tools/task_tracker.c \
	worker/tools/think.c \
	worker/tools/tools.c worker/tools/tools.h \
	worker/webhooks/delivery.c worker/webhooks/delivery.h \
	worker/webhooks/receivers.c worker/webhooks/receivers.h \
	worker/webhooks/sender.c worker/webhooks/sender.h
deft_worker_SOURCES = worker/main.c $(worker_agent_sources)
deft_worker_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS)
deft_worker_LDADD = $(CONFINE_LIBS) $(STORE_LIBS) $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) -lpthread
