# worker: conversation loops
bin_PROGRAMS += deft-worker
worker_agent_sources = \
	worker/agent/agent.c worker/agent/agent.h \
	worker/agent/answer.c worker/agent/answer.h \
	worker/agent/ask.c worker/agent/ask.h \
	worker/agent/call.c worker/agent/call.h \
	worker/agent/condense.c worker/agent/condense.h \
	worker/agent/control.c worker/agent/control.h \
	worker/agent/ending.c worker/agent/ending.h \
	worker/agent/fit.c worker/agent/fit.h \
	worker/agent/history.c worker/agent/history.h \
	worker/agent/lookup.c worker/agent/lookup.h \
	worker/agent/loop.c \
	worker/agent/mask.c worker/agent/mask.h \
	worker/agent/messages.c worker/agent/messages.h \
	worker/agent/model.c worker/agent/model.h \
	worker/agent/observation.c worker/agent/observation.h \
	worker/agent/policy.c worker/agent/policy.h \
	worker/agent/question.c worker/agent/question.h \
	worker/agent/record.c worker/agent/record.h \
	worker/agent/sandbox.c worker/agent/sandbox.h \
	worker/agent/sandbox_call.c worker/agent/sandbox_call.h \
	worker/agent/sandbox_address.c worker/agent/sandbox_address.h \
	worker/agent/sandbox_question.c worker/agent/sandbox_question.h \
	worker/agent/start_child.c worker/agent/start_child.h \
	worker/agent/stuck.c worker/agent/stuck.h \
	worker/agent/summary.c worker/agent/summary.h \
	worker/agent/takeover.c worker/agent/takeover.h \
	worker/agent/task_call.c worker/agent/task_call.h \
	worker/agent/task_result.c worker/agent/task_result.h \
	worker/agent/telling.c worker/agent/telling.h \
	worker/agent/transcript.c worker/agent/transcript.h \
	worker/agent/view.c worker/agent/view.h \
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
