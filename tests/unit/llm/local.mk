# Tests of lib/llm
check_LIBRARIES += libllmfixture.a
libllmfixture_a_SOURCES = tests/unit/llm/llm_fixture.c tests/unit/llm/llm_fixture.h \
	tests/unit/llm/gemini_rules.c tests/unit/llm/gemini_rules.h
libllmfixture_a_CPPFLAGS = $(TEST_CPPFLAGS)

LLM_TEST_LIBS = libllmfixture.a libtestsupport.a libtestcatalogue.a $(LLM_LIBS) $(CLIENT_TEST_LIBS) $(MODEL_LIBS)

LLM_PURE_TEST_LIBS = libtestsupport.a libtestcatalogue.a $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += llm_call_id_test llm_gemini_answer_test llm_gemini_history_test llm_gemini_models_test llm_gemini_request_test llm_gemini_schema_test
llm_call_id_test_SOURCES = tests/unit/llm/call_id_test.c
llm_call_id_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_call_id_test_LDADD = $(LLM_TEST_LIBS)
llm_gemini_answer_test_SOURCES = tests/unit/llm/gemini_answer_test.c
llm_gemini_answer_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_gemini_answer_test_LDADD = $(LLM_TEST_LIBS)
llm_gemini_history_test_SOURCES = tests/unit/llm/gemini_history_test.c
llm_gemini_history_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_gemini_history_test_LDADD = $(LLM_TEST_LIBS)
llm_gemini_models_test_SOURCES = tests/unit/llm/gemini_models_test.c
llm_gemini_models_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_gemini_models_test_LDADD = $(LLM_TEST_LIBS)
llm_gemini_request_test_SOURCES = tests/unit/llm/gemini_request_test.c
llm_gemini_request_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_gemini_request_test_LDADD = $(LLM_TEST_LIBS)
llm_gemini_schema_test_SOURCES = tests/unit/llm/gemini_schema_test.c
llm_gemini_schema_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_gemini_schema_test_LDADD = $(LLM_TEST_LIBS)

check_PROGRAMS += anthropic_test azure_test bedrock_endpoint_test bedrock_request_test bedrock_test chat_test llm_answer_test llm_claude_test llm_prompt_test llm_request_test llm_refusal_words_test \
	llm_http_test llm_json_repair_test llm_retry_rule_test price_test retry_test route_test scripted_test responses_test text_calls_test turn_list_test
anthropic_test_SOURCES = tests/unit/llm/anthropic_test.c
anthropic_test_CPPFLAGS = $(TEST_CPPFLAGS)
anthropic_test_LDADD = $(LLM_TEST_LIBS)
azure_test_SOURCES = tests/unit/llm/azure_test.c
azure_test_CPPFLAGS = $(TEST_CPPFLAGS)
azure_test_LDADD = $(LLM_TEST_LIBS)
bedrock_endpoint_test_SOURCES = tests/unit/llm/bedrock_endpoint_test.c
bedrock_endpoint_test_CPPFLAGS = $(TEST_CPPFLAGS)
bedrock_endpoint_test_LDADD = $(LLM_TEST_LIBS)
bedrock_request_test_SOURCES = tests/unit/llm/bedrock_request_test.c
bedrock_request_test_CPPFLAGS = $(TEST_CPPFLAGS)
bedrock_request_test_LDADD = $(LLM_TEST_LIBS)
bedrock_test_SOURCES = tests/unit/llm/bedrock_test.c tests/unit/support/event_frames.h
bedrock_test_CPPFLAGS = $(TEST_CPPFLAGS)
bedrock_test_LDADD = $(LLM_TEST_LIBS)
chat_test_SOURCES = tests/unit/llm/chat_test.c
chat_test_CPPFLAGS = $(TEST_CPPFLAGS)
chat_test_LDADD = $(LLM_TEST_LIBS)
llm_answer_test_SOURCES = tests/unit/llm/answer_test.c
llm_answer_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_answer_test_LDADD = $(LLM_PURE_TEST_LIBS)
llm_claude_test_SOURCES = tests/unit/llm/claude_test.c
llm_claude_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_claude_test_LDADD = $(LLM_PURE_TEST_LIBS)
llm_http_test_SOURCES = tests/unit/llm/llm_http_test.c
llm_http_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_http_test_LDADD = $(LLM_TEST_LIBS)
llm_json_repair_test_SOURCES = tests/unit/llm/json_repair_test.c
llm_json_repair_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_json_repair_test_LDADD = $(LLM_PURE_TEST_LIBS)
llm_prompt_test_SOURCES = tests/unit/llm/prompt_test.c
llm_prompt_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_prompt_test_LDADD = $(LLM_PURE_TEST_LIBS)
llm_refusal_words_test_SOURCES = tests/unit/llm/refusal_words_test.c
llm_refusal_words_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_refusal_words_test_LDADD = $(LLM_PURE_TEST_LIBS)
llm_retry_rule_test_SOURCES = tests/unit/llm/retry_rule_test.c
llm_retry_rule_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_retry_rule_test_LDADD = $(LLM_TEST_LIBS)
llm_request_test_SOURCES = tests/unit/llm/request_test.c
llm_request_test_CPPFLAGS = $(TEST_CPPFLAGS)
llm_request_test_LDADD = $(LLM_PURE_TEST_LIBS)
price_test_SOURCES = tests/unit/llm/price_test.c
price_test_CPPFLAGS = $(TEST_CPPFLAGS)
price_test_LDADD = $(LLM_TEST_LIBS)
responses_test_SOURCES = tests/unit/llm/responses_test.c
responses_test_CPPFLAGS = $(TEST_CPPFLAGS)
responses_test_LDADD = libtestsupport.a $(LLM_TEST_LIBS)
retry_test_SOURCES = tests/unit/llm/retry_test.c
retry_test_CPPFLAGS = $(TEST_CPPFLAGS)
retry_test_LDADD = $(LLM_TEST_LIBS)
route_test_SOURCES = tests/unit/llm/route_test.c
route_test_CPPFLAGS = $(TEST_CPPFLAGS)
route_test_LDADD = $(LLM_TEST_LIBS)
scripted_test_SOURCES = tests/unit/llm/scripted_test.c
scripted_test_CPPFLAGS = $(TEST_CPPFLAGS)
scripted_test_LDADD = $(LLM_TEST_LIBS)
text_calls_test_SOURCES = tests/unit/llm/text_calls_test.c
text_calls_test_CPPFLAGS = $(TEST_CPPFLAGS)
text_calls_test_LDADD = libtestsupport.a $(LLM_TEST_LIBS) $(CMOCKA_LIBS)
turn_list_test_SOURCES = tests/unit/llm/turn_list_test.c
turn_list_test_CPPFLAGS = $(TEST_CPPFLAGS)
turn_list_test_LDADD = $(LLM_PURE_TEST_LIBS)
EXTRA_DIST += tests/data/scripted/broken.json tests/data/scripted/slow.json tests/data/scripted/true.json \
	tests/data/scripted/unit.json tests/data/scripted/words.json

check_PROGRAMS += replay-client_sse
replay_client_sse_SOURCES = tests/fuzz/client_sse.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_client_sse_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/client_sse"'
replay_client_sse_LDADD = $(CLIENT_LIBS) $(BASE_LIBS)
check_PROGRAMS += replay-llm_answer
replay_llm_answer_SOURCES = tests/fuzz/llm_answer.c tests/fuzz/llm_format.h tests/fuzz/replay.c
replay_llm_answer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_answer"'
replay_llm_answer_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
check_PROGRAMS += replay-llm_anthropic replay-llm_responses
replay_llm_anthropic_SOURCES = tests/fuzz/llm_anthropic.c tests/fuzz/llm_format.h tests/fuzz/replay.c
replay_llm_anthropic_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_anthropic"'
replay_llm_anthropic_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
replay_llm_responses_SOURCES = tests/fuzz/llm_responses.c tests/fuzz/llm_format.h tests/fuzz/replay.c
replay_llm_responses_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_responses"'
replay_llm_responses_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
check_PROGRAMS += replay-llm_gemini replay-llm_gemini_schema
replay_llm_gemini_SOURCES = tests/fuzz/llm_gemini.c tests/fuzz/llm_format.h tests/fuzz/replay.c
replay_llm_gemini_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_gemini"'
replay_llm_gemini_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
replay_llm_gemini_schema_SOURCES = tests/fuzz/llm_gemini_schema.c tests/fuzz/replay.c
replay_llm_gemini_schema_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_gemini_schema"'
replay_llm_gemini_schema_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
check_PROGRAMS += replay-llm_bedrock replay-base_event_stream
replay_llm_bedrock_SOURCES = tests/fuzz/llm_bedrock.c tests/fuzz/llm_format.h tests/fuzz/replay.c
replay_llm_bedrock_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_bedrock"'
replay_llm_bedrock_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
replay_base_event_stream_SOURCES = tests/fuzz/base_event_stream.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_base_event_stream_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/base_event_stream"'
replay_base_event_stream_LDADD = $(BASE_LIBS)
check_PROGRAMS += replay-llm_text_call
replay_llm_text_call_SOURCES = tests/fuzz/llm_text_call.c tests/fuzz/replay.c
replay_llm_text_call_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/llm_text_call"'
replay_llm_text_call_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-client_sse
fuzz_client_sse_SOURCES = tests/fuzz/client_sse.c tests/fuzz/cut.h
fuzz_client_sse_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_client_sse_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_client_sse_LDADD = $(CLIENT_LIBS) $(BASE_LIBS)
EXTRA_PROGRAMS += fuzz-llm_answer
fuzz_llm_answer_SOURCES = tests/fuzz/llm_answer.c tests/fuzz/llm_format.h
fuzz_llm_answer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_answer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_answer_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
EXTRA_PROGRAMS += fuzz-llm_anthropic fuzz-llm_responses
fuzz_llm_anthropic_SOURCES = tests/fuzz/llm_anthropic.c tests/fuzz/llm_format.h
fuzz_llm_anthropic_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_anthropic_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_anthropic_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
fuzz_llm_responses_SOURCES = tests/fuzz/llm_responses.c tests/fuzz/llm_format.h
fuzz_llm_responses_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_responses_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_responses_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
EXTRA_PROGRAMS += fuzz-llm_gemini fuzz-llm_gemini_schema
fuzz_llm_gemini_SOURCES = tests/fuzz/llm_gemini.c tests/fuzz/llm_format.h
fuzz_llm_gemini_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_gemini_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_gemini_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
fuzz_llm_gemini_schema_SOURCES = tests/fuzz/llm_gemini_schema.c
fuzz_llm_gemini_schema_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_gemini_schema_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_gemini_schema_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
EXTRA_PROGRAMS += fuzz-llm_bedrock fuzz-base_event_stream
fuzz_llm_bedrock_SOURCES = tests/fuzz/llm_bedrock.c tests/fuzz/llm_format.h
fuzz_llm_bedrock_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_bedrock_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_bedrock_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
fuzz_base_event_stream_SOURCES = tests/fuzz/base_event_stream.c tests/fuzz/cut.h
fuzz_base_event_stream_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_base_event_stream_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_base_event_stream_LDADD = $(BASE_LIBS)
EXTRA_PROGRAMS += fuzz-llm_text_call
fuzz_llm_text_call_SOURCES = tests/fuzz/llm_text_call.c
fuzz_llm_text_call_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
fuzz_llm_text_call_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_llm_text_call_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS)
endif
