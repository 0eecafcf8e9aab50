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

static const struct test_reply whole_reply[] = {
    {.bytes = TEST_JSON_HEAD
     "{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{"
     "\"index\":0,"
     "\"finish_reason\":\"tool_calls\",\"message\":{\"role\":\"assistant\",\"content\":\"I look.\","
     "\"reasoning_content\":\"hm\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
     "\"function\":"
     "{\"name\":\"terminal\",\"arguments\":\"{\\\"command\\\":\\\"ls\\\"}\"}},{\"type\":"
     "\"function\","
     "\"function\":{\"name\":\"think\",\"arguments\":{\"thought\":\"x\"}}}]}}],\"usage\":"
     "{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120,\"prompt_tokens_"
     "details\":"
     "{\"cached_tokens\":40},\"completion_tokens_details\":{\"reasoning_tokens\":7}}}",
     .ending = TEST_CLOSE}};

static void whole_answer_becomes_a_reply(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server,
                                "{\"input_cost_per_token\":0.01,\"output_cost_per_token\":0.1}"),
                     0);
    assert_string_equal(asked.reply.response_id, "chatcmpl-7");
    assert_string_equal(asked.reply.text, "I look.");
    assert_string_equal(asked.reply.reasoning, "hm");
    assert_string_equal(asked.reply.finish_reason, "tool_calls");
    assert_int_equal(asked.reply.n_calls, 2);
    assert_string_equal(asked.reply.calls[0].id, "c1");
    assert_string_equal(asked.reply.calls[0].name, "terminal");
    assert_string_equal(asked.reply.calls[0].arguments, "{\"command\":\"ls\"}");
    assert_int_equal(strlen(asked.reply.calls[1].id), strlen("call_") + 24);
    assert_string_equal(asked.reply.calls[1].arguments, "{\"thought\":\"x\"}");
    assert_int_equal(asked.reply.usage.prompt_tokens, 100);
    assert_int_equal(asked.reply.usage.cache_read_tokens, 40);
    assert_int_equal(asked.reply.usage.reasoning_tokens, 7);
    assert_string_equal(asked.reply.usage.usage_id, "agent");
    assert_string_equal(asked.reply.usage.model, "openai/test");
    assert_string_equal(asked.reply.usage.response_id, "chatcmpl-7");
    assert_true(asked.reply.usage.cost > 2.99 && asked.reply.usage.cost < 3.01);
    assert_true(asked.reply.usage.latency_s >= 0);
    asked_done(&asked);
    test_server_stop(server);
}

static void counts_of_a_broken_server_are_bounded(void **state)
{
    static const struct test_reply reply[] = {
        {.bytes = TEST_JSON_HEAD
         "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":"
         "9223372036854775807,\"completion_tokens\":-5,\"cache_creation_input_tokens\":"
         "9223372036854775807}}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(reply, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), 0);
    assert_true(asked.reply.usage.prompt_tokens == 1000000000000);
    assert_true(asked.reply.usage.cache_write_tokens == 1000000000000);
    assert_int_equal(asked.reply.usage.completion_tokens, 0);
    asked_done(&asked);
    test_server_stop(server);
}

static void request_is_what_the_contract_says(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    json_t *body = NULL;

    assert_int_equal(ask_server(&asked, *llm, server,
                                "{\"reasoning_effort\":\"high\",\"temperature\":0.5,"
                                "\"max_output_tokens\":99,\"extra_headers\":{\"X-Mine\":\"1\"},"
                                "\"litellm_extra_body\":{\"metadata\":{\"a\":1}},\"top_p\":null}"),
                     0);
    assert_non_null(
        strstr(test_server_request(server, 0), "POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_non_null(
        strstr(test_server_request(server, 0), "Authorization: Bearer sk-unit-test\r\n"));
    assert_non_null(strstr(test_server_request(server, 0), "x-litellm-session-id: c-1\r\n"));
    assert_non_null(strstr(test_server_request(server, 0), "X-Mine: 1\r\n"));
    body = sent_body(server, 0);
    assert_string_equal(json_text_or(body, "model", ""), "test");
    assert_string_equal(json_text_or(body, "prompt_cache_key", ""), "c-1");
    assert_string_equal(json_text_or(body, "reasoning_effort", ""), "high");
    assert_int_equal(json_int_or(body, "max_completion_tokens", 0), 99);
    assert_int_equal(json_array_size(json_object_get(body, "messages")), 2);
    assert_non_null(json_object_get(body, "metadata"));
    assert_null(json_object_get(body, "top_p"));
    assert_null(json_object_get(body, "stream"));
    assert_null(json_object_get(body, "tools"));
    json_decref(body);
    asked_done(&asked);
    test_server_stop(server);
}

static void stream_is_put_together(void **state)
{
    static const char text[] = TEST_SSE_HEAD ": keep-alive\n\n" TEST_SSE(
        "{\"id\":\"s1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
        "\"content\":\"\"}}]}") TEST_TEXT("H\\u00e9") TEST_TEXT("llo")
        TEST_SSE("{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"why\"}}]}") TEST_SSE(
            "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
            "\"type\":\"function\",\"function\":{\"name\":\"terminal\",\"arguments\":\"{\\\"c\\\\"
            "\"}}]}}]}")
            TEST_SSE("{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":"
                     "\"b\",\"function\":{\"name\":\"think\",\"arguments\":\"\"}}]}}]}")
                TEST_SSE("{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
                         "\"function\":{\"arguments\":\"n\\\":1}\"}}]}}]}")
                    TEST_SSE("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":"
                             "\"tool_calls\"}]}")
                        TEST_SSE("{\"choices\":[],\"usage\":{\"prompt_tokens\":5,"
                                 "\"completion_tokens\":3}}") TEST_END;
    struct llm *const *llm = *state;

    for (size_t piece = 1; piece < 80; piece += 13) {
        struct test_reply reply = {.bytes = text, .piece = piece, .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        struct asked asked;
        json_t *body = NULL;

        assert_int_equal(ask_server(&asked, *llm, server, "{\"stream\":true}"), 0);
        assert_string_equal(asked.reply.text, "H\xc3\xa9llo");
        assert_string_equal(asked.reply.reasoning, "why");
        assert_int_equal(asked.reply.n_calls, 2);
        assert_string_equal(asked.reply.calls[0].arguments, "{\"c\\n\":1}");
        assert_string_equal(asked.reply.calls[1].name, "think");
        assert_string_equal(asked.reply.calls[1].arguments, "{}");
        assert_int_equal(asked.reply.usage.prompt_tokens, 5);
        body = sent_body(server, 0);
        assert_true(json_is_true(json_object_get(body, "stream")));
        assert_int_equal(json_bool_or(json_object_get(body, "stream_options"), "include_usage", 0),
                         1);
        json_decref(body);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void only_the_first_choice_is_read(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_SSE_HEAD TEST_SSE(
             "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"B\"}},"
             "{\"index\":0,\"delta\":{\"content\":\"A\"}}]}") TEST_STOP TEST_END,
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{\"stream\":true}"), 0);
    assert_string_equal(asked.reply.text, "A");
    asked_done(&asked);
    test_server_stop(server);
}

static void calls_of_careless_servers_are_told_apart(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_SSE_HEAD TEST_SSE(
             "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
             "\"function\":{\"name\":\"one\",\"arguments\":\"{}\"}}]}}]}")
             TEST_SSE(
                 "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\","
                 "\"function\":{\"name\":\"two\",\"arguments\":\"{}\"}}]}}]}")
                 TEST_SSE(
                     "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":"
                     "\"a\",\"function\":{\"name\":\"three\",\"arguments\":\"{}\"}}]}}]}")
                     TEST_STOP TEST_END,
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{\"stream\":true}"), 0);
    assert_int_equal(asked.reply.n_calls, 3);
    assert_string_equal(asked.reply.calls[1].name, "two");
    assert_string_equal(asked.reply.calls[2].name, "three");
    assert_string_not_equal(asked.reply.calls[2].id, asked.reply.calls[0].id);
    asked_done(&asked);
    test_server_stop(server);
}

/* A wire fault, and whether the second attempt (a good answer) is made, or the first one suffices.
 */
struct fault {
    const char *name;
    struct test_reply reply;
    size_t n_requests;
    int rc;
    const char *text; /* of the reply */
};

static const char good_stream[] = TEST_SSE_HEAD TEST_TEXT("good") TEST_STOP TEST_END;

#define BYTES(text) .bytes = (text), .len = sizeof(text) - 1

static const struct fault faults[] = {
    {"FIN in a line",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("bad") "data: {\"cho", .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"RST in a character",
     {.bytes = TEST_SSE_HEAD "data: {\"choices\":[{\"delta\":{\"content\":\"\xc3",
      .ending = TEST_RESET},
     2,
     0,
     "good"},
    {"body stays open",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("bad"), .ending = TEST_HOLD},
     2,
     0,
     "good"},
    {"no end", {.bytes = TEST_SSE_HEAD TEST_TEXT("bad"), .ending = TEST_CLOSE}, 2, 0, "good"},
    {"no [DONE], but a finish",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("fine") TEST_STOP, .ending = TEST_CLOSE},
     1,
     0,
     "fine"},
    {"error after 200",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("bad") TEST_SSE("{\"error\":{\"message\":\"Overloaded\"}}"),
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"final error after 200",
     {.bytes = TEST_SSE_HEAD TEST_SSE("{\"error\":{\"message\":\"no\",\"code\":400}}"),
      .ending = TEST_CLOSE},
     1,
     -1,
     NULL},
    {"a web page",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"},
     1,
     -1,
     NULL},
    {"a wrong chunk size",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
               "chunked\r\n\r\n5\r\ndata: {\"x\":1}\r\n",
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"gzip that nobody asked for",
     {BYTES("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: "
            "gzip\r\nConnection: close\r\n\r\n\x1f\x8b\x08\0\0\0"),
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"mixed line ends",
     {.bytes = TEST_SSE_HEAD "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: "
                             "{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":"
                             "\"stop\"}]}\r\rdata: [DONE]\n\n",
      .ending = TEST_CLOSE},
     1,
     0,
     "ab"},
    {"a BOM",
     {.bytes = TEST_SSE_HEAD "\xef\xbb\xbf" TEST_TEXT("bom") TEST_STOP TEST_END,
      .ending = TEST_CLOSE},
     1,
     0,
     "bom"},
    {"comments only",
     {.bytes = TEST_SSE_HEAD ": a\n\n: b\n\n", .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"[DONE] only", {.bytes = TEST_SSE_HEAD TEST_END, .ending = TEST_CLOSE}, 2, 0, "good"},
    {"two finish reasons",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("x") TEST_STOP TEST_STOP TEST_END, .ending = TEST_CLOSE},
     1,
     0,
     "x"},
    {"broken JSON",
     {.bytes = TEST_SSE_HEAD TEST_SSE("{\"choices\":[}") TEST_END, .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"a list",
     {.bytes = TEST_SSE_HEAD TEST_SSE("[1]") TEST_END, .ending = TEST_CLOSE},
     1,
     -1,
     NULL},
    {"a NUL",
     {BYTES(TEST_SSE_HEAD "data: "
                          "{\"choices\":[{\"delta\":{\"content\":\"a\0b\"},\"finish_reason\":"
                          "\"stop\"}]}\n\ndata: [DONE]\n\n"),
      .ending = TEST_CLOSE},
     1,
     0,
     "a\xef\xbf\xbd"
     "b"},
    {"an escaped NUL",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("a\\u0000b") TEST_STOP TEST_END, .ending = TEST_CLOSE},
     1,
     0,
     "a\xef\xbf\xbd"
     "b"},
    {"a lone surrogate",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("a\\ud800b\\ud83d\\ude00") TEST_STOP TEST_END,
      .ending = TEST_CLOSE},
     1,
     0,
     "a\xef\xbf\xbd"
     "b\xf0\x9f\x98\x80"},
    {"bad UTF-8",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("a\xff"
                                       "b") TEST_STOP TEST_END,
      .ending = TEST_CLOSE},
     1,
     0,
     "a\xef\xbf\xbd"
     "b"},
    {"a content length too short",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
               "12\r\n\r\n{\"choices\":[{\"message\":{}}]}",
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"a content length too long",
     {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
               "99\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"bad\"}}]}",
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"no choices",
     {.bytes = TEST_JSON_HEAD "{\"id\":\"x\",\"choices\":[]}", .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"an empty body", {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}, 2, 0, "good"},
    {"a stream under another name",
     {.bytes = TEST_JSON_HEAD TEST_TEXT("odd") TEST_STOP TEST_END, .ending = TEST_CLOSE},
     1,
     0,
     "odd"},
    {"a call without a name",
     {.bytes = TEST_JSON_HEAD
      "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{}}]}}]}",
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"a whole answer whose call has no name",
     {.bytes = TEST_JSON_HEAD
      "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"content\":\"I call.\","
      "\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"\"}}]}}]}",
      .ending = TEST_CLOSE},
     1,
     0,
     "I call."},
    {"odd calls only",
     {.bytes = TEST_JSON_HEAD
      "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"a\",\"type\":\"custom\"}]}}]}",
      .ending = TEST_CLOSE},
     1,
     -1,
     NULL},
    {"nesting without end",
     {.bytes = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
      .ending = TEST_CLOSE},
     2,
     0,
     "good"},
    {"a drip",
     {.bytes = TEST_SSE_HEAD TEST_TEXT("slow") TEST_STOP TEST_END,
      .piece = 1,
      .ending = TEST_CLOSE},
     1,
     0,
     "slow"},
};

static void faults_end_in_a_retry_or_a_clean_error(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const struct fault *fault = &faults[i];
        const struct test_reply replies[] = {fault->reply,
                                             {.bytes = good_stream, .ending = TEST_CLOSE}};
        struct test_server *server = test_server_start(replies, 2, NULL);
        struct asked asked;
        /* Only silence is waited out: what comes is never late, however busy the machine is. */
        const char *more = fault->reply.ending == TEST_HOLD
                               ? "{\"stream\":true,\"stream_idle_timeout\":0.3}"
                               : "{\"stream\":true}";
        int rc = ask_server(&asked, *llm, server, more);

        if (rc != fault->rc || test_server_n_requests(server) != fault->n_requests)
            fail_msg("%s: %d, %zu requests: %s", fault->name, rc, test_server_n_requests(server),
                     asked.failure.detail);
        if (rc == 0)
            assert_string_equal(asked.reply.text, fault->text);
        else
            assert_true(asked.failure.detail[0] != '\0');
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void endless_line_is_a_clean_error(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_SSE_HEAD "data: ", .ending = TEST_CLOSE}};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct test_reply reply = replies[0];
    struct llm *const *llm = *state;
    struct test_server *server = NULL;
    struct asked asked;

    strbuf_append(&text, reply.bytes);
    while (text.len < (size_t)(20 * 1024 * 1024))
        strbuf_append(&text, "0123456789012345678901234567890123456789012345678901234567890123");
    reply.bytes = text.text;
    server = test_server_start(&reply, 1, NULL);
    assert_int_equal(ask_server(&asked, *llm, server, "{\"stream\":true}"), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "APIError");
    assert_int_equal(test_server_n_requests(server), 1);
    asked_done(&asked);
    test_server_stop(server);
}

static void thousand_calls_are_a_clean_error(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct llm *const *llm = *state;
    struct test_server *server = NULL;
    struct asked asked;

    strbuf_append(&text, TEST_JSON_HEAD "{\"choices\":[{\"message\":{\"tool_calls\":[");
    for (int i = 0; i < 1000; i++)
        strbuf_appendf(&text, "%s{\"id\":\"c%d\",\"function\":{\"name\":\"t\"}}", i > 0 ? "," : "",
                       i);
    strbuf_append(&text, "]}}]}");
    reply.bytes = text.text;
    server = test_server_start(&reply, 1, NULL);
    assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "APIError");
    asked_done(&asked);
    test_server_stop(server);
}

static void silence_at_temperature_zero_is_asked_warmer(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_JSON_HEAD "{\"choices\":[]}", .ending = TEST_CLOSE},
        {.bytes = good_stream, .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 2, NULL);
    struct asked asked;
    json_t *first = NULL;
    json_t *second = NULL;

    assert_int_equal(ask_server(&asked, *llm, server, "{\"temperature\":0}"), 0);
    first = sent_body(server, 0);
    second = sent_body(server, 1);
    assert_true(json_number_or(first, "temperature", -1) < 0.1);
    assert_true(json_number_or(second, "temperature", -1) > 0.9);
    json_decref(first);
    json_decref(second);
    asked_done(&asked);
    test_server_stop(server);
}

static void cost_of_a_proxy_comes_first(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nx-litellm-response-cost: 0.25\r\nConnection: close\r\n\r\n"
                  "{\"choices\":[{\"message\":{\"content\":\"costly\"}}]}",
         .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{\"input_cost_per_token\":9}"), 0);
    assert_true(asked.reply.usage.cost > 0.24 && asked.reply.usage.cost < 0.26);
    asked_done(&asked);
    test_server_stop(server);
}

static void messages_fit_the_model(void **state)
{
    static const char history[] =
        "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}"
        "]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"U\"},{\"type\":\"text\","
        "\"text\":"
        "\" \"}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\"}],"
        "\"reasoning_content\":\"r\",\"thinking_blocks\":[],\"tool_calls\":[{\"id\":\"c\",\"type\":"
        "\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
        "\"tool_call_id\":\"c\",\"name\":\"t\",\"is_error\":true,\"content\":[{\"type\":"
        "\"text\","
        "\"text\":\"T\"}]},{\"role\":\"assistant\",\"content\":[]}]";
    static const char expected[] =
        "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]},{\"role\":"
        "\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"U\"}]},{\"role\":\"assistant\",\"tool_calls\":"
        "[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]}"
        ","
        "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"name\":\"t\",\"content\":[{\"type\":\"text\","
        "\"text\":\"T\"}]},{\"role\":\"assistant\",\"content\":\"\"}]";
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct error err = ERROR_INIT;
    struct asked asked;
    json_t *body = NULL;
    CLEANUP(mem_freep) char *sent = NULL;

    asked_init(&asked, *llm, "openai/test", test_server_url(server, ""), "{}");
    json_decref(asked.messages);
    assert_int_equal(json_parse(history, strlen(history), &asked.messages, &err), 0);
    assert_int_equal(asked_run(&asked), 0);
    body = sent_body(server, 0);
    sent = json_to_text(json_object_get(body, "messages"));
    assert_string_equal(sent, expected);
    json_decref(body);
    asked_done(&asked);
    test_server_stop(server);
}

static void plain_models_get_plain_text(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    json_t *body = NULL;
    json_t *first = NULL;

    asked_init(&asked, *llm, "deepseek/deepseek-chat", test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    body = sent_body(server, 0);
    first = json_array_get(json_object_get(body, "messages"), 0);
    assert_string_equal(json_text_or(first, "content", ""), "S");
    assert_null(json_object_get(body, "prompt_cache_key"));
    json_decref(body);
    asked_done(&asked);
    test_server_stop(server);
}

static void long_tool_text_is_cut_in_the_middle(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(whole_reply, 1, NULL);
    struct asked asked;
    json_t *body = NULL;
    json_t *part = NULL;
    json_t *message = json_object();
    json_t *content = json_array();

    for (int i = 0; i < 60000; i++)
        strbuf_append(&text, "\xc3\xa9");
    part = json_object();
    json_put_text(part, "type", "text");
    json_put_text(part, "text", text.text);
    json_push(content, part);
    json_put_text(message, "role", "tool");
    json_put(message, "content", content);
    asked_init(&asked, *llm, "openai/test", test_server_url(server, ""), "{}");
    json_push(asked.messages, message);
    assert_int_equal(asked_run(&asked), 0);
    body = sent_body(server, 0);
    message = json_array_get(json_object_get(body, "messages"), 2);
    part = json_array_get(json_object_get(message, "content"), 0);
    assert_int_equal(json_string_length(json_object_get(part, "text")), (50000 - 73) * 2 + 73);
    json_decref(body);
    asked_done(&asked);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_answer_becomes_a_reply),
        cmocka_unit_test(counts_of_a_broken_server_are_bounded),
        cmocka_unit_test(request_is_what_the_contract_says),
        cmocka_unit_test(stream_is_put_together),
        cmocka_unit_test(calls_of_careless_servers_are_told_apart),
        cmocka_unit_test(faults_end_in_a_retry_or_a_clean_error),
        cmocka_unit_test(endless_line_is_a_clean_error),
        cmocka_unit_test(thousand_calls_are_a_clean_error),
        cmocka_unit_test(silence_at_temperature_zero_is_asked_warmer),
        cmocka_unit_test(cost_of_a_proxy_comes_first),
        cmocka_unit_test(messages_fit_the_model),
        cmocka_unit_test(plain_models_get_plain_text),
        cmocka_unit_test(long_tool_text_is_cut_in_the_middle),
        cmocka_unit_test(only_the_first_choice_is_read),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
