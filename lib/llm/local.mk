# lib/llm: language models: routing, formats, retry, cost, and the scripted model
noinst_LIBRARIES += libllm.a
libllm_a_SOURCES = \
	lib/llm/call.c lib/llm/call.h lib/llm/llm.h \
	lib/llm/chat.c lib/llm/chat.h lib/llm/chat_request.c \
	lib/llm/draft.c lib/llm/draft.h \
	lib/llm/features.c lib/llm/features.h \
	lib/llm/json_repair.c lib/llm/json_repair.h \
	lib/llm/messages.c \
	lib/llm/price.c lib/llm/price.h \
	lib/llm/route.c lib/llm/route.h \
	lib/llm/run.c \
	lib/llm/scripted.c lib/llm/scripted.h \
	lib/llm/trouble.c lib/llm/trouble.h
libllm_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

LLM_LIBS = libllm.a
