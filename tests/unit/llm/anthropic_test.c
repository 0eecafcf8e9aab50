#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "llm/llm_fixture.h"

#define MODEL "anthropic/claude-haiku-4-5"
#define EVENT(json) "event: x\ndata: " json "\n\n"
#define START                                                                                      \
    EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":" \
          "10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":70,"                  \
          "\"output_tokens\":1}}}")
#define STOP EVENT("{\"type\":\"message_stop\"}")
#define END(reason)                                                                                \
    EVENT("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason                       \
          "\"},\"usage\":{\"output_tokens\":33}}")                                                 \
    STOP
#define BEGIN(i, block)                                                                            \
    EVENT("{\"type\":\"content_block_start\",\"index\":" i ",\"content_block\":" block "}")
#define DELTA(i, delta)                                                                            \
    EVENT("{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":" delta "}")
#define CEASE(i) EVENT("{\"type\":\"content_block_stop\",\"index\":" i "}")
#define TEXT_BEGIN BEGIN("0", "{\"type\":\"text\",\"text\":\"\"}")
#define TEXT(text) DELTA("0", "{\"type\":\"text_delta\",\"text\":\"" text "\"}")

static const struct test_reply whole_reply[] = {
    {.bytes = TEST_JSON_HEAD
     "{\"id\":\"msg_7\",\"type\":\"message\",\"role\":\"assistant\",\"content\":["
     "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"},"
     "{\"type\":\"redacted_thinking\",\"data\":\"enc\"},"
     "{\"type\":\"text\",\"text\":\"I look.\"},"
     "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"terminal\",\"input\":{\"command\":"
     "\"ls\"}},{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"think\",\"input\":{}}],"
     "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":10,\"output_tokens\":20,"
     "\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":60}}",
     .ending = TEST_CLOSE}};

static void assert_text(const json_t *json, const char *expected)
{
    CLEANUP(mem_freep) char *text = json_to_text(json);

    assert_string_equal(text, expected);
}

/* The body of a request with that history to that model. A new reference. */
static json_t *body_for(struct llm *llm, const char *model, const char *spec_more,
                        const char *history, const char *tools)
{
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    json_t *body = NULL;

    asked_init(&asked, llm, model, test_server_url(server, ""), spec_more);
    if (history != NULL) {
        json_decref(asked.messages);
        asked.messages = parsed(history);
    }
    if (tools != NULL)
        asked.tools = parsed(tools);
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    body = sent_body(server, 0);
    asked_done(&asked);
    test_server_stop(server);
    return body;
}

/* --- answers --- */

static void whole_answer_becomes_a_reply(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.response_id, "msg_7");
    assert_looks(&asked.reply, MODEL, "enc", "toolu_1");
    assert_int_equal(asked.reply.usage.prompt_tokens, 100);
    assert_int_equal(asked.reply.usage.cache_read_tokens, 60);
    assert_int_equal(asked.reply.usage.cache_write_tokens, 30);
    assert_int_equal(asked.reply.usage.completion_tokens, 20);
    asked_done(&asked);
    test_server_stop(server);
}

/* Its place among words and calls would be lost, and the server checks it. */
static void thinking_after_words_is_not_kept(void **state)
{
    static const struct test_reply reply[] = {
        {.bytes = TEST_JSON_HEAD
         "{\"id\":\"msg_8\",\"type\":\"message\",\"role\":\"assistant\",\"content\":["
         "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"},"
         "{\"type\":\"text\",\"text\":\"I look.\"},"
         "{\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":\"gis\"},"
         "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"think\",\"input\":{}}],"
         "\"stop_reason\":\"tool_use\",\"usage\":{}}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_null(asked.reply.thinking);
    assert_string_equal(asked.reply.text, "I look.");
    assert_int_equal(asked.reply.n_calls, 1);
    asked_done(&asked);
    test_server_stop(server);
}

static void counts_of_a_broken_server_are_bounded(void **state)
{
    static const struct test_reply reply[] = {
        {.bytes = TEST_JSON_HEAD
         "{\"id\":\"msg_9\",\"type\":\"message\",\"role\":\"assistant\",\"content\":["
         "{\"type\":\"text\",\"text\":\"x\"}],\"usage\":{\"input_tokens\":9223372036854775807,"
         "\"output_tokens\":-5,\"cache_creation_input_tokens\":9223372036854775807,"
         "\"cache_read_input_tokens\":9223372036854775807}}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_true(asked.reply.usage.prompt_tokens == 3000000000000);
    assert_int_equal(asked.reply.usage.completion_tokens, 0);
    asked_done(&asked);
    test_server_stop(server);
}

static void stream_is_put_together(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_SSE_HEAD START EVENT("{\"type\":\"ping\"}")
             BEGIN("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}") DELTA(
                 "0", "{\"type\":\"thinking_delta\",\"thinking\":\"h\"}")
                 DELTA("0", "{\"type\":\"thinking_delta\",\"thinking\":\"m\"}") DELTA(
                     "0", "{\"type\":\"signature_delta\",\"signature\":\"sig\"}") CEASE("0")
                     BEGIN("1", "{\"type\":\"redacted_thinking\",\"data\":\"enc\"}") CEASE("1")
                         BEGIN("2", "{\"type\":\"text\",\"text\":\"\"}")
                             DELTA("2", "{\"type\":\"text_delta\",\"text\":\"I \"}") DELTA(
                                 "2", "{\"type\":\"text_delta\",\"text\":\"look.\"}") CEASE("2")
                                 EVENT("{\"type\":\"what_is_new\",\"error\":null}") BEGIN(
                                     "3", "{\"type\":\"tool_use\",\"id\":\"toolu_"
                                          "1\",\"name\":\"terminal\",\"input\":{}}")
                                     DELTA("3", "{\"type\":\"input_json_delta\","
                                                "\"partial_json\":\"{\\\"command\\\"\"}")
                                         DELTA("3", "{\"type\":\"input_json_delta\","
                                                    "\"partial_json\":\":\\\"ls\\\"}\"}") CEASE("3")
                                             BEGIN("4", "{\"type\":\"tool_use\",\"id\":"
                                                        "\"toolu_2\",\"name\":\"think\","
                                                        "\"input\":{}}") CEASE("4") END("tool_use"),
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;
    const struct llm_listener listener = {collect_piece, ignore_failure, &pieces};
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"stream\":true}");
    asked.listener = &listener;
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.response_id, "msg_1");
    assert_looks(&asked.reply, MODEL, "enc", "toolu_1");
    assert_string_equal(pieces.text, "~h|~m|I |look.|");
    assert_int_equal(asked.reply.usage.prompt_tokens, 100);
    assert_int_equal(asked.reply.usage.completion_tokens, 33);
    asked_done(&asked);
    test_server_stop(server);
}

static const struct {
    const char *theirs;
    const char *ours;
} reasons[] = {
    {"{\"stop_reason\":\"end_turn\",", "stop"},
    {"{\"stop_reason\":\"stop_sequence\",", "stop"},
    {"{\"stop_reason\":\"max_tokens\",", "length"},
    {"{\"stop_reason\":\"model_context_window_exceeded\",", "length"},
    {"{\"stop_reason\":\"refusal\",", "content_filter"},
    {"{\"stop_reason\":\"newly_made\",", "newly_made"},
};

static void reasons_to_stop_have_one_name(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_appendf(&text, TEST_JSON_HEAD "%s\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
                       reasons[i].theirs);
        assert_finish_reason(*llm, MODEL, text.text, reasons[i].ours);
    }
}

/* --- faults --- */

static const struct {
    const char *name;
    const char *stream; /* the first answer; the next one is good */
    const char *code;   /* of the failure; NULL: the second answer is taken */
} faults[] = {
    {"overloaded in the middle",
     START TEXT_BEGIN TEXT("half") EVENT("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_"
                                         "error\",\"message\":\"Overloaded\"}}"),
     NULL},
    {"a server's fault in the middle",
     START EVENT(
         "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal\"}}"),
     NULL},
    {"a limit in the middle",
     START EVENT(
         "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}"),
     NULL},
    {"a refusal in the middle",
     START EVENT(
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}}"),
     "LLMBadRequestError"},
    {"a key that ends in the middle",
     START EVENT(
         "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"x\"}}"),
     "LLMAuthenticationError"},
    {"an error without words", START EVENT("{\"type\":\"error\"}"), NULL},
    {"broken off in a text", START TEXT_BEGIN TEXT("half"), NULL},
    {"broken off in an event", START TEXT_BEGIN TEXT("half") "data: {\"type\":\"conte", NULL},
    {"nothing", "", NULL},
    {"pings only", EVENT("{\"type\":\"ping\"}"), NULL},
    {"no beginning", STOP, NULL},
    {"no object", EVENT("[1]") EVENT("\"x\"") EVENT("null"), NULL},
};

static void faults_end_in_a_retry_or_a_clean_error(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
        struct test_reply replies[] = {
            {.ending = TEST_CLOSE},
            {.bytes = TEST_SSE_HEAD START TEXT_BEGIN TEXT("good") CEASE("0") END("end_turn"),
             .ending = TEST_CLOSE}};
        struct test_server *server = NULL;
        struct asked asked;
        int rc = 0;

        strbuf_appendf(&first, "%s%s", TEST_SSE_HEAD, faults[i].stream);
        replies[0].bytes = first.text;
        server = test_server_start(replies, 2, NULL);
        asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"stream\":true}");
        rc = asked_run(&asked);
        if (rc == 0 ? faults[i].code != NULL : faults[i].code == NULL)
            fail_msg("%s: %d, %s", faults[i].name, rc, asked.failure.detail);
        if (rc == 0)
            assert_string_equal(asked.reply.text, "good");
        else
            assert_string_equal(llm_failure_code(&asked.failure), faults[i].code);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static const struct {
    const char *status;
    const char *body;
    const char *code;
} refusals[] = {
    {"401 No", "\"authentication_error\",\"message\":\"invalid x-api-key\"",
     "LLMAuthenticationError"},
    {"403 No", "\"permission_error\",\"message\":\"x\"", "LLMAuthenticationError"},
    {"404 No", "\"not_found_error\",\"message\":\"model: x\"", "NotFoundError"},
    {"413 Big", "\"request_too_large\",\"message\":\"x\"", "LLMBadRequestError"},
    {"429 Slow", "\"rate_limit_error\",\"message\":\"x\"", "LLMRateLimitError"},
    {"500 Oops", "\"api_error\",\"message\":\"x\"", "LLMServiceUnavailableError"},
    {"529 Busy", "\"overloaded_error\",\"message\":\"Overloaded\"", "LLMServiceUnavailableError"},
    {"400 Bad", "\"invalid_request_error\",\"message\":\"prompt is too long: 9 tokens > 8\"",
     "LLMContextWindowExceedError"},
    {"400 Bad",
     "\"invalid_request_error\",\"message\":\"messages.1: `tool_use` ids were found without "
     "`tool_result` blocks immediately after: x\"",
     "LLMMalformedConversationHistoryError"},
    {"400 Bad",
     "\"invalid_request_error\",\"message\":\"Output blocked by content filtering policy\"",
     "LLMContentPolicyViolationError"},
    {"400 Bad", "\"invalid_request_error\",\"message\":\"x\"", "LLMBadRequestError"},
};

static void refusals_have_the_contracts_names(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&text,
                       "HTTP/1.1 %s\r\nConnection: close\r\n\r\n"
                       "{\"type\":\"error\",\"error\":{\"type\":%s}}",
                       refusals[i].status, refusals[i].body);
        reply.bytes = text.text;
        server = test_server_start(&reply, 1, NULL);
        asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
        assert_int_equal(asked_run(&asked), -1);
        assert_string_equal(llm_failure_code(&asked.failure), refusals[i].code);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* --- requests --- */

static void request_is_what_the_contract_says(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    const char *sent = NULL;
    json_t *body = NULL;

    asked_init(&asked, *llm, "claude-3-5-haiku", test_server_url(server, "/"),
               "{\"temperature\":0.5,\"top_p\":0.9,\"seed\":1,\"extra_headers\":{\"X-Mine\":\"1\"},"
               "\"litellm_extra_body\":{\"metadata\":{\"user_id\":\"u\"}}}");
    asked.tools = parsed("[{\"type\":\"function\",\"function\":{\"name\":\"t\",\"description\":"
                         "\"d\",\"parameters\":{\"type\":\"object\"}}}]");
    assert_int_equal(asked_run(&asked), 0);
    sent = test_server_request(server, 0);
    assert_non_null(strstr(sent, "POST /v1/messages HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "x-api-key: sk-unit-test\r\n"));
    assert_non_null(strstr(sent, "anthropic-version: 2023-06-01\r\n"));
    assert_non_null(strstr(sent, "x-litellm-session-id: c-1\r\n"));
    assert_non_null(strstr(sent, "X-Mine: 1\r\n"));
    assert_null(strstr(sent, "Authorization"));
    body = sent_body(server, 0);
    assert_text(body,
                "{\"system\":[{\"type\":\"text\",\"text\":\"S\",\"cache_control\":{\"type\":"
                "\"ephemeral\"}}],\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                "\"text\":\"Hi\",\"cache_control\":{\"type\":\"ephemeral\"}}]}],\"tools\":[{"
                "\"name\":\"t\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}],"
                "\"model\":\"claude-3-5-haiku\",\"max_tokens\":8192,\"temperature\":0.5,"
                "\"metadata\":{\"user_id\":\"u\"}}");
    json_decref(body);
    asked_done(&asked);
    test_server_stop(server);
}

#define CALL(id)                                                                                   \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":"         \
    "\"{\\\"a\\\":1}\"}}"
#define SAID(text) "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"
#define RESULT(id)                                                                                 \
    "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"name\":\"t\",\"content\":[{\"type\":"        \
    "\"text\",\"text\":\"r\"}]}"
#define USE(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"t\",\"input\":{\"a\":1}}"
#define USER "{\"role\":\"user\",\"content\":["
#define ASSISTANT "{\"role\":\"assistant\",\"content\":["
#define WORDS(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define DONE(id)                                                                                   \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id                                              \
    "\",\"content\":[{\"type\":\"text\",\"text\":\"r\"}]}"

static const struct {
    const char *name;
    const char *history;
    const char *messages;
} histories[] = {
    {"a batch",
     "[" SAID("a") ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
                   "\"look \\n\"}],\"tool_calls\":[" CALL("1") "," CALL("2") "]}," RESULT(
                       "1") "," RESULT("2") "," SAID("b") "]",
     "[" USER WORDS("a") "]}," ASSISTANT WORDS("look") "," USE("1") "," USE("2") "]}," USER DONE(
         "1") "," DONE("2") "," WORDS("b") "]}]"},
    {"odd ids",
     "[" SAID("a") ",{\"role\":\"assistant\",\"tool_calls\":[" CALL("call:1/x") "]}," RESULT(
         "call:1/x") "]",
     "[" USER WORDS("a") "]}," ASSISTANT USE("call_3a1_2fx") "]}," USER DONE("call_3a1_2fx") "]}]"},
    {"the assistant first", "[{\"role\":\"assistant\",\"content\":[" WORDS("x") "]}," SAID("a") "]",
     "[" USER WORDS("(The conversation begins with a message of the assistant.)") "]}," ASSISTANT
         WORDS("x") "]}," USER WORDS("a") "]}]"},
    {"the assistant last", "[" SAID("a") ",{\"role\":\"assistant\",\"content\":[" WORDS("x") "]}]",
     "[" USER WORDS("a") "]}," ASSISTANT WORDS("x") "]}," USER WORDS("Go on.") "]}]"},
    {"two answers",
     "[" SAID("a") ",{\"role\":\"assistant\",\"content\":[" WORDS(
         "x") "]},{\"role\":\"assistant\",\"tool_calls\":[" CALL("1") "]}," RESULT("1") "]",
     "[" USER WORDS("a") "]}," ASSISTANT WORDS("x") "]}," USER WORDS("Go on.") "]}," ASSISTANT USE(
         "1") "]}," USER DONE("1") "]}]"},
    {"an image without encryption",
     "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://a/"
     "b.png\"}}]}]",
     "[" USER
     "{\"type\":\"text\",\"text\":\"[an image in a form that this model does not take]\"}]}]"},
    {"empty answers", "[" SAID("a") ",{\"role\":\"assistant\",\"content\":[]}," SAID("b") "]",
     "[" USER WORDS("a") "," WORDS("b") "]}]"},
    {"nothing", "[]", "[" USER WORDS("Go on.") "]}]"},
    {"images",
     "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
     "png;base64,AAAA\"}},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://a/b.png\"}},"
     "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/tiff;base64,AAAA\"}}]}]",
     "[" USER
     "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"
     "\"AAAA\"}},{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://a/b.png\"}},"
     "{\"type\":\"text\",\"text\":\"[an image in a form that this model does not take]\"}]}]"},
};

static void messages_have_the_formats_form(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(histories); i++) {
        json_auto_t *body = body_for(*llm, "anthropic/claude-3-5-haiku",
                                     "{\"caching_prompt\":false}", histories[i].history, NULL);

        assert_text(json_object_get(body, "messages"), histories[i].messages);
    }
}

static void arguments_go_back_byte_for_byte(void **state)
{
    static const char history[] =
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
        "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{"
        "\"name\":\"t\",\"arguments\":\"{ \\\"b\\\": 1.50, \\\"a\\\": 1e2}\"}},"
        "{\"id\":\"2\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{\\\"b\"}"
        "}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":[]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":[]}]";
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    json_decref(asked.messages);
    asked.messages = parsed(history);
    assert_int_equal(asked_run(&asked), 0);
    assert_non_null(
        strstr(test_server_request(server, 0), "\"input\":{ \"b\": 1.50, \"a\": 1e2}}"));
    assert_non_null(
        strstr(test_server_request(server, 0), "\"id\":\"2\",\"name\":\"t\",\"input\":{}}"));
    asked_done(&asked);
    test_server_stop(server);
}

static size_t n_marks(const json_t *body)
{
    CLEANUP(mem_freep) char *text = json_to_text(body);
    size_t n = 0;

    for (const char *at = strstr(text, "cache_control"); at != NULL;
         at = strstr(at + 1, "cache_control"))
        n++;
    return n;
}

static void last_result_carries_the_cache_mark(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body =
        body_for(*llm, MODEL, "{}",
                 "[{\"role\":\"system\",\"content\":[" WORDS("S") "," WORDS("D") "]}," SAID(
                     "a") ","
                          "{\"role\":\"assistant\",\"tool_calls\":[" CALL("1") "," CALL(
                              "2") "]}," RESULT("1") "," RESULT("2") "]",
                 NULL);
    const json_t *system = json_object_get(body, "system");
    const json_t *last = json_array_get(json_object_get(body, "messages"), 2);

    assert_int_equal(n_marks(body), 2);
    assert_non_null(json_object_get(json_array_get(system, 0), "cache_control"));
    assert_non_null(
        json_object_get(json_array_get(json_object_get(last, "content"), 1), "cache_control"));
}

/* What the proxies that pass on to this format are sent. */
static void marks_go_through_a_proxy(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_JSON_HEAD "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
         .ending = TEST_CLOSE}};
    static const struct {
        const char *model;
        size_t n_marks;
    } models[] = {{"litellm_proxy/claude-sonnet-4-5", 2},
                  {"openrouter/anthropic/claude-sonnet-4.5", 2},
                  {"litellm_proxy/mistral-large", 0},
                  {"openai/claude-sonnet-4-5", 0}};
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        struct test_server *server = test_server_start(replies, 1, NULL);
        json_auto_t *body = NULL;
        struct asked asked;

        asked_init(&asked, *llm, models[i].model, test_server_url(server, ""), "{}");
        json_decref(asked.messages);
        asked.messages = parsed("[{\"role\":\"system\",\"content\":[" WORDS("S") "]}," SAID(
            "a") ","
                 "{\"role\":\"assistant\",\"tool_calls\":[" CALL("1") "]}," RESULT("1") "]");
        assert_int_equal(asked_run(&asked), 0);
        body = sent_body(server, 0);
        assert_int_equal(n_marks(body), models[i].n_marks);
        if (models[i].n_marks > 0)
            assert_non_null(json_object_get(json_array_get(json_object_get(body, "messages"), 3),
                                            "cache_control"));
        asked_done(&asked);
        test_server_stop(server);
    }
}

#define THOUGHT(model)                                                                             \
    "[" SAID("a") ",{\"role\":\"assistant\",\"thinking_blocks\":[{\"type\":\"thinking\","          \
                  "\"thinking\":\"hm\",\"signature\":\"sig\",\"model\":\"" model                   \
                  "\"}],\"tool_calls\":[" CALL("1") "]}," RESULT("1") "]"

static void thinking_goes_back_to_the_model_that_thought(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *same = body_for(*llm, MODEL, "{}", THOUGHT(MODEL), NULL);
    json_auto_t *other = body_for(*llm, MODEL, "{}", THOUGHT("anthropic/claude-opus-4-5"), NULL);
    const json_t *message = json_array_get(json_object_get(same, "messages"), 1);

    assert_text(json_array_get(json_object_get(message, "content"), 0),
                "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\"}");
    assert_non_null(json_object_get(same, "thinking"));
    message = json_array_get(json_object_get(other, "messages"), 1);
    assert_int_equal(json_array_size(json_object_get(message, "content")), 1);
    assert_null(json_object_get(other, "thinking"));
}

static const struct {
    const char *model;
    const char *spec;
    const char *thinking; /* NULL: none */
} thinkers[] = {
    {"anthropic/claude-haiku-4-5", "{}", "{\"type\":\"enabled\",\"budget_tokens\":63999}"},
    {"anthropic/claude-haiku-4-5", "{\"extended_thinking_budget\":2000}",
     "{\"type\":\"enabled\",\"budget_tokens\":2000}"},
    {"anthropic/claude-haiku-4-5", "{\"reasoning_effort\":\"none\"}", NULL},
    {"anthropic/claude-haiku-4-5", "{\"reasoning_effort\":null}", NULL},
    {"anthropic/claude-haiku-4-5", "{\"max_output_tokens\":16}", NULL},
    {"anthropic/claude-sonnet-4-20250514", "{\"reasoning_effort\":\"medium\"}",
     "{\"type\":\"enabled\",\"budget_tokens\":2048}"},
    {"anthropic/claude-opus-5", "{\"reasoning_effort\":\"high\",\"temperature\":0}",
     "{\"type\":\"adaptive\"}"},
    {"anthropic/claude-opus-5-5", "{\"reasoning_effort\":\"none\",\"temperature\":0}",
     "{\"type\":\"adaptive\",\"block_binding\":{\"prefix_mismatch_behavior\":"
     "\"drop_block\"}}"},
    {"anthropic/claude-next", "{}",
     "{\"type\":\"adaptive\",\"block_binding\":{\"prefix_mismatch_behavior\":"
     "\"drop_block\"}}"},
    {"anthropic/claude-opus-5", "{\"reasoning_effort\":\"none\"}", NULL},
    {"anthropic/claude-3-5-haiku", "{\"reasoning_effort\":\"high\"}", NULL},
};

static void models_think_as_they_can(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(thinkers); i++) {
        json_auto_t *body = body_for(*llm, thinkers[i].model, thinkers[i].spec, NULL, NULL);
        const json_t *thinking = json_object_get(body, "thinking");

        if (thinkers[i].thinking == NULL) {
            assert_null(thinking);
            continue;
        }
        assert_text(thinking, thinkers[i].thinking);
        assert_null(json_object_get(body, "temperature"));
    }
}

static const struct {
    const char *model;
    const char *spec;
    json_int_t max_tokens;
} outputs[] = {
    {"anthropic/claude-haiku-4-5", "{}", 64000},
    {"anthropic/claude-opus-5", "{}", 128000},
    {"anthropic/claude-opus-5", "{\"max_output_tokens\":99}", 99},
    {"anthropic/ours", "{\"model_canonical_name\":\"anthropic/claude-opus-5\"}", 128000},
    {"anthropic/claude-next", "{}", 32000},
    {"anthropic/claude-3-5-haiku", "{}", 8192},
    {"anthropic/ours", "{}", 8192},
};

static void answers_may_be_as_long_as_the_catalogue_says(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
        json_auto_t *body = body_for(*llm, outputs[i].model, outputs[i].spec, NULL, NULL);

        assert_int_equal(json_int_or(body, "max_tokens", 0), outputs[i].max_tokens);
    }
}

static void calls_as_text_end_at_a_stop_word(void **state)
{
    struct llm *const *llm = *state;
    const char *tools = "[{\"type\":\"function\",\"function\":{\"name\":\"terminal\","
                        "\"description\":\"Runs it.\",\"parameters\":{\"type\":\"object\","
                        "\"properties\":{}}}}]";
    json_auto_t *body = body_for(*llm, MODEL, "{\"native_tool_calling\":false}", NULL, tools);
    json_auto_t *without = body_for(
        *llm, MODEL, "{\"native_tool_calling\":false,\"disable_stop_word\":true}", NULL, tools);
    json_auto_t *native = body_for(*llm, MODEL, "{}", NULL, tools);

    assert_text(json_object_get(body, "stop_sequences"), "[\"</function\"]");
    assert_null(json_object_get(body, "tools"));
    assert_null(json_object_get(without, "stop_sequences"));
    assert_null(json_object_get(native, "stop_sequences"));
    assert_non_null(json_object_get(native, "tools"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_answer_becomes_a_reply),
        cmocka_unit_test(stream_is_put_together),
        cmocka_unit_test(reasons_to_stop_have_one_name),
        cmocka_unit_test(faults_end_in_a_retry_or_a_clean_error),
        cmocka_unit_test(refusals_have_the_contracts_names),
        cmocka_unit_test(request_is_what_the_contract_says),
        cmocka_unit_test(messages_have_the_formats_form),
        cmocka_unit_test(arguments_go_back_byte_for_byte),
        cmocka_unit_test(last_result_carries_the_cache_mark),
        cmocka_unit_test(marks_go_through_a_proxy),
        cmocka_unit_test(thinking_after_words_is_not_kept),
        cmocka_unit_test(counts_of_a_broken_server_are_bounded),
        cmocka_unit_test(thinking_goes_back_to_the_model_that_thought),
        cmocka_unit_test(models_think_as_they_can),
        cmocka_unit_test(answers_may_be_as_long_as_the_catalogue_says),
        cmocka_unit_test(calls_as_text_end_at_a_stop_word),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
