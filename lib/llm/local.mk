# lib/llm: language models: routing, formats, retry, cost, and the scripted model
noinst_LIBRARIES += libllm.a
libllm_a_SOURCES = \
	lib/llm/llm_call.c lib/llm/llm_call.h lib/llm/llm.h \
	lib/llm/llm_prompt.c lib/llm/llm_prompt.h \
	lib/llm/format.h lib/llm/formats/format_table.c \
	lib/llm/llm_headers.c lib/llm/llm_headers.h \
	lib/llm/llm_http.c lib/llm/llm_http.h \
	lib/llm/formats/chat.h lib/llm/formats/chat_answer.c lib/llm/formats/chat_message.c \
	lib/llm/formats/chat_request.c \
	lib/llm/formats/responses.h lib/llm/formats/responses_answer.c lib/llm/formats/responses_message.c \
	lib/llm/formats/responses_request.c \
	lib/llm/formats/anthropic.h lib/llm/formats/anthropic_answer.c lib/llm/formats/anthropic_message.c \
	lib/llm/formats/anthropic_request.c \
	lib/llm/formats/gemini.h lib/llm/formats/gemini_answer.c lib/llm/formats/gemini_message.c \
	lib/llm/formats/gemini_request.c \
	lib/llm/formats/gemini_name.c lib/llm/formats/gemini_name.h \
	lib/llm/formats/gemini_schema.c lib/llm/formats/gemini_schema.h \
	lib/llm/formats/schema_ref.c lib/llm/formats/schema_ref.h \
	lib/llm/formats/call_signature.c lib/llm/formats/call_signature.h \
	lib/llm/call_id.c lib/llm/call_id.h \
	lib/llm/formats/bedrock.h lib/llm/formats/bedrock_answer.c lib/llm/formats/bedrock_endpoint.c \
	lib/llm/formats/bedrock_message.c lib/llm/formats/bedrock_request.c \
	lib/llm/bedrock_models.c lib/llm/bedrock_models.h \
	lib/llm/claude.c lib/llm/claude.h \
	lib/llm/gemini_models.c lib/llm/gemini_models.h \
	lib/llm/formats/clip.c lib/llm/formats/clip.h \
	lib/llm/text_call.c lib/llm/text_call.h \
	lib/llm/text_calls.c lib/llm/text_calls.h \
	lib/llm/formats/claude_thinking.c lib/llm/formats/claude_thinking.h \
	lib/llm/formats/thinking.c lib/llm/formats/thinking.h \
	lib/llm/formats/turn_list.c lib/llm/formats/turn_list.h \
	lib/llm/response_builder.c lib/llm/response_builder.h \
	lib/llm/json_repair.c lib/llm/json_repair.h \
	lib/llm/price.c lib/llm/price.h lib/llm/window.c lib/llm/window.h \
	lib/llm/route.c lib/llm/route.h \
	lib/llm/retry.c \
	lib/llm/scripted.c lib/llm/scripted.h \
	lib/llm/llm_error.c lib/llm/llm_error.h
libllm_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

LLM_LIBS = libllm.a
