#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm_fixture.h"
#include "support/event_frames.h"

#define MODEL "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0"
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

/* --- answers --- */

static void assert_reply(const struct llm_reply *reply)
{
    assert_looks(reply, MODEL, "ZW5j", "tooluse_1");
    assert_string_equal(reply->calls[1].id, "tooluse_2");
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

        strbuf_appendf(&bytes,
                       TEST_JSON_HEAD "{\"output\":{\"message\":{\"content\":[{\"text\":\"x\"}]}},"
                                      "\"stopReason\":\"%s\"}",
                       stop_reasons[i].theirs);
        assert_finish_reason(*llm, MODEL, bytes.text, stop_reasons[i].ours);
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
    {"ThrottlingException", LLM_FAILURE_RATE_LIMIT, 2, "of the test"},
    {"newException", LLM_FAILURE_SERVICE_UNAVAILABLE, 2, "of the test"},
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
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
