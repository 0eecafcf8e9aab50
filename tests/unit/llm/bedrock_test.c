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
#include "base/text.h"
#include "llm/llm_fixture.h"
#include "support/event_frames.h"

#define MODEL "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"
#define OTHER_MODEL "bedrock/meta.llama3-3-70b-instruct-v1:0"
#define STREAM_HEAD                                                                                \
    "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\n"                      \
    "x-amzn-RequestId: req-9\r\nConnection: close\r\n\r\n"
#define USAGE                                                                                      \
    "{\"inputTokens\":10,\"outputTokens\":20,\"totalTokens\":120,\"cacheReadInputTokens\":60,"     \
    "\"cacheWriteInputTokens\":30}"

static const struct test_reply whole_reply[] = {
    {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-amzn-RequestId: req-7\r\n"
              "Connection: close\r\n\r\n"
              "{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":["
              "{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":\"sig\"}}},"
              "{\"reasoningContent\":{\"redactedContent\":\"ZW5j\"}},"
              "{\"text\":\"I look.\"},{\"whatIsNew\":{}},"
              "{\"toolUse\":{\"toolUseId\":\"tooluse_1\",\"name\":\"terminal\",\"input\":"
              "{\"command\":\"ls\"}}},"
              "{\"toolUse\":{\"toolUseId\":\"tooluse_2\",\"name\":\"think\",\"input\":{}}}]}},"
              "\"stopReason\":\"tool_use\",\"usage\":" USAGE ",\"metrics\":{\"latencyMs\":1}}",
     .ending = TEST_CLOSE}};

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", err.message, text);
    return json;
}

static void assert_json(const json_t *json, const char *expected)
{
    json_auto_t *wanted = parsed(expected);
    CLEANUP(mem_freep) char *text = json != NULL ? json_to_text(json) : mem_dup_text("nothing");

    if (!json_equal(json, wanted))
        fail_msg("%s\nis not\n%s", text, expected);
}

/* The JSON that a request with that history to that model carries. A new reference. */
static json_t *body_for(struct llm *llm, const char *model, const char *spec_more,
                        const char *history, const char *tools)
{
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    const char *body = NULL;
    struct asked asked;
    json_t *json = NULL;

    asked_init(&asked, llm, model, test_server_url(server, ""), spec_more);
    if (history != NULL) {
        json_decref(asked.messages);
        asked.messages = parsed(history);
    }
    if (tools != NULL)
        asked.tools = parsed(tools);
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    body = strstr(test_server_request(server, 0), "\r\n\r\n");
    json = parsed(body + strlen("\r\n\r\n"));
    asked_done(&asked);
    test_server_stop(server);
    return json;
}

static void assert_member(struct llm *llm, const char *model, const char *spec_more,
                          const char *history, const char *member, const char *expected)
{
    json_auto_t *body = body_for(llm, model, spec_more, history, NULL);

    assert_json(json_object_get(body, member), expected);
}

/* --- answers --- */

static void assert_reply(const struct llm_reply *reply)
{
    assert_string_equal(reply->text, "I look.");
    assert_string_equal(reply->reasoning, "hm");
    assert_string_equal(reply->finish_reason, "tool_calls");
    assert_json(reply->thinking,
                "[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\",\"model\":"
                "\"" MODEL "\"},{\"type\":\"redacted_thinking\",\"data\":\"ZW5j\",\"model\":"
                "\"" MODEL "\"}]");
    assert_int_equal(reply->n_calls, 2);
    assert_string_equal(reply->calls[0].id, "tooluse_1");
    assert_string_equal(reply->calls[0].name, "terminal");
    assert_string_equal(reply->calls[0].arguments, "{\"command\":\"ls\"}");
    assert_string_equal(reply->calls[1].id, "tooluse_2");
    assert_string_equal(reply->calls[1].arguments, "{}");
    assert_int_equal(reply->usage.prompt_tokens, 100);
    assert_int_equal(reply->usage.cache_read_tokens, 60);
    assert_int_equal(reply->usage.cache_write_tokens, 30);
    assert_int_equal(reply->usage.completion_tokens, 20);
    /* 1, 0.1, 1.25 and 5 dollars per million tokens, and a tenth more in the United States. */
    assert_true(reply->usage.cost > 0.00016 && reply->usage.cost < 0.00018);
}

static void whole_answer_becomes_a_reply(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.response_id, "req-7");
    assert_reply(&asked.reply);
    asked_done(&asked);
    test_server_stop(server);
}

static const struct {
    const char *theirs;
    const char *ours;
} stop_reasons[] = {
    {"end_turn", "stop"},
    {"stop_sequence", "stop"},
    {"tool_use", "tool_calls"},
    {"max_tokens", "length"},
    {"model_context_window_exceeded", "length"},
    {"guardrail_intervened", "content_filter"},
    {"content_filtered", "content_filter"},
    {"brand_new", "brand_new"},
};

static void reasons_to_stop_are_translated(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(stop_reasons); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&bytes,
                       TEST_JSON_HEAD "{\"output\":{\"message\":{\"content\":[{\"text\":\"x\"}]}},"
                                      "\"stopReason\":\"%s\"}",
                       stop_reasons[i].theirs);
        reply.bytes = bytes.text;
        server = test_server_start(&reply, 1, NULL);
        asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
        assert_int_equal(asked_run(&asked), 0);
        assert_string_equal(asked.reply.finish_reason, stop_reasons[i].ours);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* --- streams --- */

static void collect(void *owner, const struct llm_piece *piece)
{
    struct strbuf *into = owner;

    strbuf_appendf(into, "%s%s%s|", piece->response_id, piece->is_reasoning ? "~" : "=",
                   piece->text);
}

static void note_failure(void *owner, const struct llm_attempt *attempt)
{
    struct strbuf *into = owner;

    strbuf_appendf(into, "(%s)", attempt->reason);
}

static void append_beginning(struct strbuf *out)
{
    strbuf_append(out, STREAM_HEAD);
    frame_append(out, "event", "messageStart", "{\"role\":\"assistant\",\"p\":\"ab\"}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{\"text\":\"h\"}}}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{\"text\":\"m\"}}}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":0,\"delta\":{\"reasoningContent\":{\"signature\":"
                 "\"sig\"}}}");
    frame_append(out, "event", "contentBlockStop", "{\"contentBlockIndex\":0}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":1,\"delta\":{\"reasoningContent\":{\"redactedContent\":"
                 "\"ZW5j\"}}}");
    frame_append(out, "event", "contentBlockStop", "{\"contentBlockIndex\":1}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":2,\"delta\":{\"text\":\"I \"}}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":2,\"delta\":{\"text\":\"look.\"}}");
    frame_append(out, "event", "contentBlockStop", "{\"contentBlockIndex\":2}");
}

static void append_rest(struct strbuf *out)
{
    frame_append(out, "event", "whatIsNew", "");
    frame_append(out, "event", "contentBlockStart",
                 "{\"contentBlockIndex\":3,\"start\":{\"toolUse\":{\"toolUseId\":\"tooluse_1\","
                 "\"name\":\"terminal\"}}}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":3,\"delta\":{\"toolUse\":{\"input\":\"{\\\"command\\\"\"}}"
                 "}");
    frame_append(out, "event", "contentBlockStart",
                 "{\"contentBlockIndex\":4,\"start\":{\"toolUse\":{\"toolUseId\":\"tooluse_2\","
                 "\"name\":\"think\"}}}");
    frame_append(out, "event", "contentBlockDelta",
                 "{\"contentBlockIndex\":3,\"delta\":{\"toolUse\":{\"input\":\":\\\"ls\\\"}\"}}}");
    frame_append(out, "event", "contentBlockStop", "{\"contentBlockIndex\":3}");
    frame_append(out, "event", "messageStop", "{\"stopReason\":\"tool_use\"}");
    frame_append(out, "event", "metadata", "{\"usage\":" USAGE ",\"metrics\":{\"latencyMs\":1}}");
}

static void stream_is_put_together(void **state)
{
    struct llm *const *llm = *state;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;
    const struct llm_listener listener = {collect, note_failure, &pieces};
    struct test_reply reply = {.ending = TEST_CLOSE, .piece = 100};
    struct test_server *server = NULL;
    struct asked asked;

    append_beginning(&bytes);
    append_rest(&bytes);
    reply.bytes = bytes.text;
    reply.len = bytes.len;
    server = test_server_start(&reply, 1, NULL);
    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"stream\":true}");
    asked.listener = &listener;
    if (asked_run(&asked) < 0)
        fail_msg("%s", asked.failure.detail);
    assert_non_null(strstr(test_server_request(server, 0), "/converse-stream HTTP/1.1\r\n"));
    assert_string_equal(asked.reply.response_id, "req-9");
    assert_reply(&asked.reply);
    assert_string_equal(pieces.text, "req-9~h|req-9~m|req-9=I |req-9=look.|");
    asked_done(&asked);
    test_server_stop(server);
}

/* What a stream may end with instead of its rest, and what is made of it. */
static void append_exception(struct strbuf *out, const char *type)
{
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;

    if (!text_equal(type, "error")) {
        frame_append(out, "exception", type, "{\"message\":\"of the test\"}");
        return;
    }
    frame_append_header(&headers, ":message-type", "error");
    frame_append_header(&headers, ":error-code", "Gone");
    frame_append_header(&headers, ":error-message", "of the test");
    frame_append_raw(out, &headers, "", 0);
}

static const struct {
    const char *exception; /* "": a wrong checksum; NULL: the connection ends */
    enum llm_failure_kind kind;
    size_t n_requests;
    const char *words;
} broken_ends[] = {
    {"throttlingException", LLM_FAILURE_RATE_LIMIT, 2, "of the test"},
    {"validationException", LLM_FAILURE_BAD_REQUEST, 1, "of the test"},
    {"modelStreamErrorException", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "of the test"},
    {"internalServerException", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "of the test"},
    {"serviceUnavailableException", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "of the test"},
    {"modelTimeoutException", LLM_FAILURE_TIMEOUT, 2, "of the test"},
    {"error", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "of the test"},
    {"", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "damaged"},
    {NULL, LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "broke off in the middle"},
};

static void broken_streams_are_asked_for_again(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(broken_ends); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;

        append_beginning(&bytes);
        if (broken_ends[i].exception != NULL && broken_ends[i].exception[0] != '\0')
            append_exception(&bytes, broken_ends[i].exception);
        else if (broken_ends[i].exception != NULL)
            bytes.text[bytes.len - 1] = (char)(bytes.text[bytes.len - 1] ^ 1);
        reply.bytes = bytes.text;
        reply.len = bytes.len;
        server = test_server_start(&reply, 1, NULL);
        asked_init(&asked, *llm, MODEL, test_server_url(server, ""),
                   "{\"stream\":true,\"num_retries\":2}");
        assert_int_equal(asked_run(&asked), -1);
        assert_int_equal(asked.failure.kind, broken_ends[i].kind);
        assert_non_null(strstr(asked.failure.detail, broken_ends[i].words));
        assert_int_equal(test_server_n_requests(server), broken_ends[i].n_requests);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* A message that says that it has gigabytes. */
static void endless_message_is_refused_at_once(void **state)
{
    struct llm *const *llm = *state;
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_HOLD};
    struct test_server *server = NULL;
    struct asked asked;
    size_t begin = 0;

    strbuf_append(&bytes, STREAM_HEAD);
    begin = bytes.len;
    frame_append_number(&bytes, 0xfffffff0);
    frame_append_number(&bytes, 0);
    frame_append_sum(&bytes, begin);
    reply.bytes = bytes.text;
    reply.len = bytes.len;
    server = test_server_start(&reply, 1, NULL);
    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"stream\":true}");
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(asked.failure.kind, LLM_FAILURE_API);
    assert_non_null(strstr(asked.failure.detail, "longer than"));
    asked_done(&asked);
    test_server_stop(server);
}

/* --- refusals --- */

static const struct {
    const char *status;
    const char *type;
    const char *body;
    enum llm_failure_kind kind;
    const char *words;
} refusals[] = {
    {"400 Bad Request", "ValidationException:http://internal.amazon.com/coral/", "odd",
     LLM_FAILURE_BAD_REQUEST, "odd (error code: 400, ValidationException)"},
    {"400 Bad Request", "ValidationException", "Input is too long for requested model.",
     LLM_FAILURE_CONTEXT_WINDOW, "too long"},
    {"400 Bad Request", "ValidationException",
     "The model returned the following errors: prompt is too long: 2 tokens > 1 maximum",
     LLM_FAILURE_CONTEXT_WINDOW, "too long"},
    {"400 Bad Request", "ValidationException",
     "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks "
     "of previous turn.",
     LLM_FAILURE_MALFORMED_HISTORY, "toolResult"},
    {"400 Bad Request", "ValidationException",
     "Expected toolResult blocks at messages.2.content for the following Ids: a",
     LLM_FAILURE_MALFORMED_HISTORY, "toolResult"},
    {"403 Forbidden", "AccessDeniedException", "no", LLM_FAILURE_AUTHENTICATION, "403, Access"},
    {"403 Forbidden", "ExpiredTokenException", "no", LLM_FAILURE_AUTHENTICATION, "Expired"},
    {"404 Not Found", "ResourceNotFoundException", "no", LLM_FAILURE_NOT_FOUND, "Resource"},
    {"408 Request Timeout", "ModelTimeoutException", "no", LLM_FAILURE_TIMEOUT, "Timeout"},
    {"424 Failed Dependency", "ModelErrorException", "no", LLM_FAILURE_SERVICE_UNAVAILABLE, "424"},
    {"429 Too Many Requests", "ThrottlingException", "no", LLM_FAILURE_RATE_LIMIT, "Throttling"},
    {"500 Internal Server Error", "InternalServerException", "no", LLM_FAILURE_SERVICE_UNAVAILABLE,
     "500"},
    {"503 Service Unavailable", "ServiceUnavailableException", "no",
     LLM_FAILURE_SERVICE_UNAVAILABLE, "503"},
};

static void refusals_have_their_class(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&bytes,
                       "HTTP/1.1 %s\r\nx-amzn-ErrorType: %s\r\nContent-Type: application/json\r\n"
                       "Connection: close\r\n\r\n{\"%s\":\"%s\"}",
                       refusals[i].status, refusals[i].type, i % 2 == 0 ? "message" : "Message",
                       refusals[i].body);
        reply.bytes = bytes.text;
        server = test_server_start(&reply, 1, NULL);
        asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{\"num_retries\":1}");
        assert_int_equal(asked_run(&asked), -1);
        if (asked.failure.kind != refusals[i].kind ||
            strstr(asked.failure.detail, refusals[i].words) == NULL)
            fail_msg("%s: %s", refusals[i].type, asked.failure.detail);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void a_daily_limit_is_not_waited_for(void **state)
{
    static const struct test_reply reply[] = {
        {.bytes = "HTTP/1.1 429 Too Many Requests\r\nx-amzn-ErrorType: ThrottlingException\r\n"
                  "Connection: close\r\n\r\n{\"message\":\"Too many tokens per day, please wait "
                  "before trying again.\"}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    asked_done(&asked);
    test_server_stop(server);
}

/* --- requests: messages --- */

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define USER(text) "{\"role\":\"user\",\"content\":[" TEXT(text) "]}"
#define CALL(id, name, arguments)                                                                  \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" arguments "\"}}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":[" text "]}"
#define HISTORY                                                                                    \
    "[{\"role\":\"system\",\"content\":[" TEXT("Static") "," TEXT("Dynamic") "]}," USER(           \
        "Hi") ","                                                                                  \
              "{\"role\":\"assistant\",\"content\":[" TEXT("I look. ") "],\"tool_calls\":[" CALL(  \
                  "toolu_1", "terminal",                                                           \
                  "{\\\"b\\\":1, \\\"a\\\":2.0}") "," CALL("a:b", "no_tool",                       \
                                                           "{") "],\"thinking_blocks\":[{"         \
                                                                "\"type\":\"thinking\","           \
                                                                "\"thinking\":\"hm\","             \
                                                                "\"signature\":\"s\","             \
                                                                "\"model\":\"" MODEL               \
                                                                "\"},{\"type\":\"redacted_"        \
                                                                "thinking\",\"data\":\"ZQ==\","    \
                                                                "\"model\":"                       \
                                                                "\"" MODEL                         \
                                                                "\"},{\"type\":\"thinking\","      \
                                                                "\"thinking\":\"x\","              \
                                                                "\"signature\":\"y\",\"model\":"   \
                                                                "\"other\"}]}," TOOL(              \
                                                                    "toolu_1",                     \
                                                                    TEXT("one") "," TEXT(          \
                                                                        " ")) "," TOOL("a:b",      \
                                                                                       "") "," USER("So?") "]"

static void history_becomes_blocks(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(*llm, MODEL, "{}", HISTORY, NULL);

    assert_json(json_object_get(body, "system"),
                "[{\"text\":\"Static\"},{\"cachePoint\":{\"type\":\"default\"}},"
                "{\"text\":\"Dynamic\"}]");
    assert_json(json_object_get(body, "messages"),
                "[{\"role\":\"user\",\"content\":[{\"text\":\"Hi\"}]},"
                "{\"role\":\"assistant\",\"content\":["
                "{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":\"s\"}}},"
                "{\"reasoningContent\":{\"redactedContent\":\"ZQ==\"}},{\"text\":\"I look.\"},"
                "{\"toolUse\":{\"toolUseId\":\"toolu_1\",\"name\":\"terminal\",\"input\":"
                "{\"b\":1,\"a\":2.0}}},"
                "{\"toolUse\":{\"toolUseId\":\"a_3ab\",\"name\":\"no_tool\",\"input\":{}}}]},"
                "{\"role\":\"user\",\"content\":["
                "{\"toolResult\":{\"toolUseId\":\"toolu_1\",\"content\":[{\"text\":\"one\"}]}},"
                "{\"toolResult\":{\"toolUseId\":\"a_3ab\",\"content\":[]}},{\"text\":\"So?\"},"
                "{\"cachePoint\":{\"type\":\"default\"}}]}]");
}

static void arguments_are_sent_byte_for_byte(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, MODEL, test_server_url(server, ""), "{}");
    json_decref(asked.messages);
    asked.messages = parsed(HISTORY);
    assert_int_equal(asked_run(&asked), 0);
    assert_non_null(strstr(test_server_request(server, 0), "\"input\":{\"b\":1, \"a\":2.0}}}"));
    asked_done(&asked);
    test_server_stop(server);
}

/* Models of other makers refuse words beside results, and take no cache points. */
static void words_stand_apart_from_results_for_other_models(void **state)
{
    struct llm *const *llm = *state;

    assert_member(
        *llm, OTHER_MODEL, "{}",
        "[" USER("Hi") ",{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[" CALL(
            "a", "terminal",
            "{}") "," CALL("b", "terminal",
                           "{}") "]}," TOOL("a",
                                            TEXT(
                                                "one")) "," TOOL("b",
                                                                 TEXT(
                                                                     "two")) "," USER("So?") "," USER("Hm") "]",
        "messages",
        "[{\"role\":\"user\",\"content\":[{\"text\":\"Hi\"}]},"
        "{\"role\":\"assistant\",\"content\":["
        "{\"toolUse\":{\"toolUseId\":\"a\",\"name\":\"terminal\",\"input\":{}}},"
        "{\"toolUse\":{\"toolUseId\":\"b\",\"name\":\"terminal\",\"input\":{}}}]},"
        "{\"role\":\"user\",\"content\":["
        "{\"toolResult\":{\"toolUseId\":\"a\",\"content\":[{\"text\":\"one\"}]}},"
        "{\"toolResult\":{\"toolUseId\":\"b\",\"content\":[{\"text\":\"two\"}]}}]},"
        "{\"role\":\"assistant\",\"content\":[{\"text\":\"I have read the results.\"}]},"
        "{\"role\":\"user\",\"content\":[{\"text\":\"So?\"},{\"text\":\"Hm\"}]}]");
}

static void the_user_has_the_first_and_the_last_word(void **state)
{
    struct llm *const *llm = *state;

    assert_member(*llm, OTHER_MODEL, "{}",
                  "[{\"role\":\"assistant\",\"content\":[" TEXT(
                      "one") "]},"
                             "{\"role\":\"assistant\",\"content\":[" TEXT("two") "]}]",
                  "messages",
                  "[{\"role\":\"user\",\"content\":[{\"text\":\"(The conversation begins with a "
                  "message of the assistant.)\"}]},"
                  "{\"role\":\"assistant\",\"content\":[{\"text\":\"one\"}]},"
                  "{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]},"
                  "{\"role\":\"assistant\",\"content\":[{\"text\":\"two\"}]},"
                  "{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]}]");
    assert_member(*llm, OTHER_MODEL, "{}", "[]", "messages",
                  "[{\"role\":\"user\",\"content\":[{\"text\":\"Go on.\"}]}]");
}

#define IMAGE(url) "{\"type\":\"image_url\",\"image_url\":{\"url\":\"" url "\"}}"

static void images_are_sent_along(void **state)
{
    struct llm *const *llm = *state;

    assert_member(
        *llm, MODEL, "{\"caching_prompt\":false}",
        "[{\"role\":\"user\",\"content\":[" IMAGE("data:image/jpeg;base64,AAAA") "," IMAGE(
            "https://h/a.png") "," IMAGE("data:image/tiff;base64,AAAA") "]}]",
        "messages",
        "[{\"role\":\"user\",\"content\":[{\"image\":{\"format\":\"jpeg\",\"source\":"
        "{\"bytes\":\"AAAA\"}}},"
        "{\"text\":\"[an image in a form that this model does not take]\"},"
        "{\"text\":\"[an image in a form that this model does not take]\"}]}]");
    assert_member(
        *llm, MODEL, "{\"caching_prompt\":false,\"disable_vision\":true}",
        "[{\"role\":\"user\",\"content\":[" IMAGE("data:image/png;base64,AAAA") "," TEXT("x") "]}]",
        "messages", "[{\"role\":\"user\",\"content\":[{\"text\":\"x\"}]}]");
}

#define LONG_ID "call_0123456789012345678901234567890123456789012345678901234567890123456789"

static void long_ids_are_shortened_alike(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(
        *llm, MODEL, "{}",
        "[" USER("Hi") ",{\"role\":\"assistant\",\"content\":[],\"tool_calls\":[" CALL(
            LONG_ID "1", LONG_ID,
            "{}") "," CALL(LONG_ID "2", "terminal",
                           "{}") "]}," TOOL(LONG_ID "1", TEXT("one")) "," TOOL(LONG_ID "2",
                                                                               TEXT("two")) "]",
        NULL);
    const json_t *messages = json_object_get(body, "messages");
    const char *ids[2];

    for (size_t i = 0; i < 2; i++) {
        const json_t *use = json_object_get(
            json_array_get(json_object_get(json_array_get(messages, 1), "content"), i), "toolUse");
        const json_t *result = json_object_get(
            json_array_get(json_object_get(json_array_get(messages, 2), "content"), i),
            "toolResult");

        ids[i] = json_text_or(use, "toolUseId", "");
        assert_int_equal(strlen(ids[i]), 64);
        assert_string_equal(json_text_or(result, "toolUseId", ""), ids[i]);
    }
    assert_string_not_equal(ids[0], ids[1]);
}

/* --- requests: tools and parameters --- */

static void tools_have_their_schemas(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body =
        body_for(*llm, MODEL, "{}", NULL,
                 "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"b\","
                 "\"parameters\":{\"type\":\"object\"}}},{\"type\":\"function\",\"function\":"
                 "{\"name\":\"c\",\"description\":\"\",\"parameters\":{\"type\":\"object\"}}}]");
    json_auto_t *without = body_for(*llm, MODEL, "{}", NULL, NULL);

    assert_json(json_object_get(body, "toolConfig"),
                "{\"tools\":[{\"toolSpec\":{\"name\":\"a\",\"description\":\"b\",\"inputSchema\":"
                "{\"json\":{\"type\":\"object\"}}}},{\"toolSpec\":{\"name\":\"c\",\"inputSchema\":"
                "{\"json\":{\"type\":\"object\"}}}}]}");
    assert_null(json_object_get(without, "toolConfig"));
}

/* A history with calls is refused without tools. */
static void calls_without_tools_are_sent_with_a_placeholder(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body = body_for(*llm, MODEL, "{}", HISTORY, NULL);
    const json_t *tools = json_object_get(json_object_get(body, "toolConfig"), "tools");

    assert_int_equal(json_array_size(tools), 1);
    assert_string_equal(
        json_text_or(json_object_get(json_array_get(tools, 0), "toolSpec"), "name", ""), "no_tool");
}

static const struct {
    const char *model;
    const char *spec;
    const char *config; /* inferenceConfig */
    const char *fields; /* additionalModelRequestFields; NULL: none */
} parameters[] = {
    {MODEL, "{}", "{\"maxTokens\":64000}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"],\"thinking\":{\"type\":\"enabled\","
     "\"budget_tokens\":63999}}"},
    {MODEL, "{\"reasoning_effort\":null,\"temperature\":0.5,\"top_p\":0.9,\"top_k\":5}",
     "{\"maxTokens\":64000,\"temperature\":0.5}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"],\"top_k\":5}"},
    {MODEL, "{\"reasoning_effort\":\"none\",\"top_p\":0.9,\"max_output_tokens\":100}",
     "{\"maxTokens\":100,\"topP\":0.9}",
     "{\"anthropic_beta\":[\"interleaved-thinking-2025-05-14\"]}"},
    {"bedrock/anthropic.claude-opus-4-6-v1", "{\"temperature\":1,\"reasoning_effort\":\"low\"}",
     "{\"maxTokens\":128000}",
     "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}"},
    {"bedrock/global.anthropic.claude-opus-5-5", "{}", "{\"maxTokens\":128000}",
     "{\"anthropic_beta\":[\"thinking-binding-controls-2026-08-01\"],\"thinking\":{\"type\":"
     "\"adaptive\",\"block_binding\":{\"prefix_mismatch_behavior\":\"drop_block\"}},"
     "\"output_config\":{\"effort\":\"high\"}}"},
    {"bedrock/anthropic.claude-3-5-haiku-20241022-v1:0", "{\"temperature\":0}",
     "{\"maxTokens\":8192,\"temperature\":0}", NULL},
    {"bedrock/amazon.nova-pro-v1:0", "{\"top_p\":0.5,\"temperature\":0.1,\"top_k\":9}",
     "{\"maxTokens\":10000,\"topP\":0.5,\"temperature\":0.1}",
     "{\"inferenceConfig\":{\"topK\":9}}"},
    {"bedrock/amazon.nova-2-lite-v1:0", "{\"temperature\":0.1}", NULL,
     "{\"reasoningConfig\":{\"type\":\"enabled\",\"maxReasoningEffort\":\"high\"}}"},
    {"bedrock/amazon.nova-2-lite-v1:0",
     "{\"temperature\":0.1,\"reasoning_effort\":\"minimal\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9,\"temperature\":0.1}",
     "{\"reasoningConfig\":{\"type\":\"enabled\",\"maxReasoningEffort\":\"low\"}}"},
    {"bedrock/amazon.nova-2-lite-v1:0", "{\"reasoning_effort\":\"none\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", NULL},
    {"bedrock/openai.gpt-oss-120b-1:0", "{\"reasoning_effort\":\"xhigh\",\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", "{\"reasoning_effort\":\"high\"}"},
    {"bedrock/mistral.mistral-large-2407-v1:0", "{\"top_k\":3,\"max_output_tokens\":9}",
     "{\"maxTokens\":9}", "{\"top_k\":3}"},
    {"bedrock/ours.unknown", "{\"top_k\":3,\"seed\":4}", NULL, NULL},
    {"bedrock/arn:aws:bedrock:eu-west-1:1:application-inference-profile/x",
     "{\"model_canonical_name\":\"bedrock/anthropic.claude-opus-4-6-v1\"}",
     "{\"maxTokens\":128000}",
     "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"high\"}}"},
    {"bedrock/ours.unknown",
     "{\"litellm_extra_body\":{\"guardrailConfig\":{\"a\":1},\"inferenceConfig\":{\"x\":1},"
     "\"additionalModelRequestFields\":{\"y\":2}},\"temperature\":0.5}",
     "{\"temperature\":0.5,\"x\":1}", "{\"y\":2}"},
};

static void parameters_are_those_of_the_maker(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
        json_auto_t *body = body_for(*llm, parameters[i].model, parameters[i].spec, NULL, NULL);
        json_auto_t *config = json_incref(json_object_get(body, "inferenceConfig"));
        json_auto_t *fields = json_incref(json_object_get(body, "additionalModelRequestFields"));

        if (parameters[i].config != NULL)
            assert_json(config, parameters[i].config);
        else
            assert_null(config);
        if (parameters[i].fields != NULL)
            assert_json(fields, parameters[i].fields);
        else
            assert_null(fields);
    }
}

/* Of 10,000 tokens 40,000 bytes leave no room; the image counts by its tokens. */
static void an_answer_has_the_room_that_the_prompt_leaves(void **state)
{
    struct llm *const *llm = *state;
    static const struct {
        size_t text_bytes;
        size_t image_bytes;
        int64_t low;
        int64_t high;
    } cases[] = {
        {4000, 0, 8600, 8744},
        {4000, 100000, 7600, 7744},
        {36000, 0, 1024, 1024},
        {100000, 0, 1024, 1024},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf history = STRBUF_INIT;
        json_auto_t *body = NULL;
        json_int_t given = 0;

        strbuf_append(&history, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
        for (size_t n = 0; n < cases[i].text_bytes; n++)
            strbuf_append_char(&history, 'x');
        strbuf_append(&history, "\"}");
        if (cases[i].image_bytes > 0)
            strbuf_append(&history, ",{\"type\":\"image_url\",\"image_url\":{\"url\":"
                                    "\"data:image/png;base64,");
        for (size_t n = 0; n < cases[i].image_bytes; n++)
            strbuf_append_char(&history, 'A');
        strbuf_append(&history, cases[i].image_bytes > 0 ? "\"}}]}]" : "]}]");
        body = body_for(*llm, OTHER_MODEL,
                        "{\"max_input_tokens\":10000,\"max_output_tokens\":9999,"
                        "\"capability_overrides\":{\"supports_vision\":true}}",
                        history.text, NULL);
        given = json_int_or(json_object_get(body, "inferenceConfig"), "maxTokens", 0);
        assert_in_range(given, cases[i].low, cases[i].high);
    }
}

static void calls_as_text_have_a_stop_word(void **state)
{
    struct llm *const *llm = *state;
    json_auto_t *body =
        body_for(*llm, OTHER_MODEL, "{\"native_tool_calling\":false}", NULL,
                 "[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"description\":\"b\","
                 "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]");

    assert_null(json_object_get(body, "toolConfig"));
    assert_json(json_object_get(json_object_get(body, "inferenceConfig"), "stopSequences"),
                "[\"</function\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_answer_becomes_a_reply),
        cmocka_unit_test(reasons_to_stop_are_translated),
        cmocka_unit_test(stream_is_put_together),
        cmocka_unit_test(broken_streams_are_asked_for_again),
        cmocka_unit_test(endless_message_is_refused_at_once),
        cmocka_unit_test(refusals_have_their_class),
        cmocka_unit_test(a_daily_limit_is_not_waited_for),
        cmocka_unit_test(history_becomes_blocks),
        cmocka_unit_test(arguments_are_sent_byte_for_byte),
        cmocka_unit_test(words_stand_apart_from_results_for_other_models),
        cmocka_unit_test(the_user_has_the_first_and_the_last_word),
        cmocka_unit_test(images_are_sent_along),
        cmocka_unit_test(long_ids_are_shortened_alike),
        cmocka_unit_test(tools_have_their_schemas),
        cmocka_unit_test(calls_without_tools_are_sent_with_a_placeholder),
        cmocka_unit_test(parameters_are_those_of_the_maker),
        cmocka_unit_test(an_answer_has_the_room_that_the_prompt_leaves),
        cmocka_unit_test(calls_as_text_have_a_stop_word),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
