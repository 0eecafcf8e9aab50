/*
 * Answers over HTTP: which of them are streams, what they cost, and what is passed on while they
 * come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "llm/llm.h"
#include "llm/llm_fixture.h"

#define HEAD(type) "HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nConnection: close\r\n\r\n"
#define NO_TYPE "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define WHOLE "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}"
#define KEPT_ANSWER                                                                                \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 41\r\n\r\n" WHOLE
#define STREAM TEST_TEXT("x") TEST_STOP

/* The first answer; a call is made once, so that each failure is its own. */
static const struct {
    const char *bytes;
    const char *code;   /* of the failure; NULL: the answer is "x" */
    const char *detail; /* its beginning */
} answers[] = {
    {HEAD("application/json") WHOLE, NULL, NULL},
    {HEAD("text/plain") WHOLE, NULL, NULL},
    {NO_TYPE WHOLE, NULL, NULL},
    {HEAD("text/event-stream") STREAM, NULL, NULL},
    {HEAD("Text/Event-Stream; charset=utf-8") STREAM, NULL, NULL},
    {HEAD("text/plain") STREAM, NULL, NULL},
    {NO_TYPE ": a comment\n\n" STREAM, NULL, NULL},
    {NO_TYPE "event: x\n" STREAM, NULL, NULL},
    {HEAD("text/event-stream") TEST_SSE("") STREAM TEST_END TEST_SSE("{"), NULL, NULL},
    {HEAD("text/event-stream") TEST_TEXT("x") TEST_END, NULL, NULL},
    {NO_TYPE TEST_TEXT("x") TEST_END, NULL, NULL},
    {HEAD("text/html") "<html>", "APIError",
     "The model's server answered with a web page: is the base URL right?"},
    {HEAD("TEXT/HTML; charset=utf-8") "<html>", "APIError",
     "The model's server answered with a web page: is the base URL right?"},
    {HEAD("application/json"), "LLMNoResponseError", "The model's answer is empty."},
    {NO_TYPE "<html>", "LLMServiceUnavailableError", "The model's answer is not JSON: "},
    {HEAD("text/event-stream") TEST_TEXT("x"), "LLMServiceUnavailableError",
     "Connection error: the model's answer broke off in the middle."},
    {NO_TYPE TEST_TEXT("x"), "LLMServiceUnavailableError",
     "Connection error: the model's answer broke off in the middle."},
    {HEAD("text/event-stream") TEST_SSE("{"), "LLMServiceUnavailableError",
     "The model's answer is not JSON: "},
    {HEAD("text/event-stream"), "LLMServiceUnavailableError",
     "Connection error: the model's answer broke off in the middle."},
    {"HTTP/1.1 299 Fine\r\nConnection: close\r\n\r\n" WHOLE, NULL, NULL},
    {"HTTP/1.1 300 Odd\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" STREAM,
     "APIError", "The model's server refused the call: "},
    {"HTTP/1.1 401 No\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
     "{\"error\":\"no\"}",
     "LLMAuthenticationError", "The model's server refused the call: no (error code: 401)"},
};

static void answer_is_read_as_what_it_is(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        const struct test_reply reply = {.bytes = answers[i].bytes, .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        struct asked asked;
        int rc = ask_server(&asked, *llm, server, "{\"stream\":true,\"num_retries\":1}");

        if (rc == 0 ? answers[i].code != NULL : answers[i].code == NULL)
            fail_msg("%s: %s", answers[i].bytes, asked.failure.detail);
        if (rc == 0) {
            assert_string_equal(asked.reply.text, "x");
        } else {
            assert_string_equal(llm_failure_code(&asked.failure), answers[i].code);
            if (strncmp(asked.failure.detail, answers[i].detail, strlen(answers[i].detail)) != 0)
                fail_msg("%s", asked.failure.detail);
        }
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* What the proxy says an answer cost, if it is a cost. */
static void cost_is_the_proxys_if_it_is_one(void **state)
{
    static const struct {
        const char *value;
        double cost; /* below 0: unknown */
    } cases[] = {
        {"0.25", 0.25}, {"1e-3", 0.001}, {"999999", 999999}, {"1e6", -1}, {"-0.5", -1},
        {"0.25x", -1},  {"x", -1},       {"", -1},           {"nan", -1}, {"inf", -1},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
        struct test_reply reply = {.ending = TEST_CLOSE};
        struct test_server *server = NULL;
        struct asked asked;
        double cost = 0;

        strbuf_appendf(&bytes,
                       "HTTP/1.1 200 OK\r\nx-litellm-response-cost: %s\r\nConnection: close"
                       "\r\n\r\n" WHOLE,
                       cases[i].value);
        reply.bytes = bytes.text;
        server = test_server_start(&reply, 1, NULL);
        assert_int_equal(ask_server(&asked, *llm, server, "{}"), 0);
        cost = asked.reply.usage.cost;
        if (cases[i].cost < 0 ? cost >= 0
                              : cost < cases[i].cost * 0.99 || cost > cases[i].cost * 1.01)
            fail_msg("%s: %g", cases[i].value, cost);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void headers_of_the_specification_are_sent_if_they_are_texts(void **state)
{
    static const struct test_reply reply = {.bytes = NO_TYPE WHOLE, .ending = TEST_CLOSE};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(&reply, 1, NULL);
    const char *sent = NULL;
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server,
                                "{\"extra_headers\":{\"X-One\":\"1\",\"X-Two\":2,\"X-Three\":"
                                "\"3\"}}"),
                     0);
    sent = test_server_request(server, 0);
    assert_int_equal(strncmp(sent, "POST /v1/chat/completions ", 26), 0);
    assert_non_null(strstr(sent, "\r\nX-One: 1\r\n"));
    assert_null(strstr(sent, "X-Two"));
    assert_non_null(strstr(sent, "\r\nX-Three: 3\r\n"));
    assert_non_null(strstr(sent, "\r\nx-litellm-session-id: c-1\r\n"));
    assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
    asked_done(&asked);
    test_server_stop(server);
}

/* --- what is passed on --- */

static void note_piece(void *owner, const struct llm_piece *piece)
{
    strbuf_appendf(owner, "%s%.*s/%s|", piece->is_reasoning ? "~" : "", (int)piece->len,
                   piece->text, piece->response_id);
    assert_int_equal(strlen(piece->text), piece->len);
}

static void note_failure(void *owner, const struct llm_attempt *attempt)
{
    (void)attempt;
    strbuf_append(owner, "failed|");
}

/* Pieces as they come; none of an answer that is not streamed, and none that are empty. */
static void pieces_are_passed_on_as_they_come(void **state)
{
    static const struct {
        const char *bytes;
        const char *pieces;
    } cases[] = {
        {TEST_SSE_HEAD TEST_SSE("{\"choices\":[{\"delta\":{\"reasoning\":\"r\","
                                "\"content\":\"a\"}}]}") TEST_TEXT("") TEST_TEXT("b") STREAM,
         "~r/|a/|b/r1|x/r1|"},
        {NO_TYPE TEST_TEXT("a") STREAM, "a/r1|x/r1|"},
        {NO_TYPE WHOLE, ""},
        {TEST_SSE_HEAD TEST_TEXT("a"), "a/r1|failed|"},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply reply = {.bytes = cases[i].bytes, .ending = TEST_CLOSE};
        struct test_server *server = test_server_start(&reply, 1, NULL);
        CLEANUP(strbuf_done) struct strbuf pieces = STRBUF_INIT;
        const struct llm_listener listener = {note_piece, note_failure, &pieces};
        struct asked asked;

        asked_init(&asked, *llm, "openai/test", test_server_url(server, ""),
                   "{\"stream\":true,\"num_retries\":1}");
        asked.listener = &listener;
        (void)asked_run(&asked);
        assert_string_equal(pieces.text, cases[i].pieces);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* An answer of exactly so many bytes, or a stream whose first line has so many. */
static const char *code_of_long(struct llm *llm, size_t n_bytes, bool is_stream)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    const char *code = "";
    struct asked asked;
    size_t head = 0;

    strbuf_append(&bytes, is_stream ? TEST_SSE_HEAD : HEAD("application/json"));
    head = bytes.len;
    strbuf_append(&bytes,
                  is_stream ? "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}" : WHOLE);
    strbuf_reserve(&bytes, n_bytes);
    memset(bytes.text + bytes.len, ' ', head + n_bytes - bytes.len);
    bytes.len = head + n_bytes;
    bytes.text[bytes.len] = '\0';
    if (is_stream)
        strbuf_append(&bytes, "\n\n" TEST_STOP);
    reply.bytes = bytes.text;
    server = test_server_start(&reply, 1, NULL);
    if (ask_server(&asked, llm, server, "{\"stream\":true,\"num_retries\":1}") < 0)
        code = llm_failure_code(&asked.failure);
    asked_done(&asked);
    test_server_stop(server);
    return code;
}

static void answers_and_events_have_a_largest_size(void **state)
{
    enum { ANSWER_MAX_BYTES = 16 * 1024 * 1024, EVENT_MAX_BYTES = 4 * 1024 * 1024 };
    struct llm *const *llm = *state;

    assert_string_equal(code_of_long(*llm, ANSWER_MAX_BYTES, false), "");
    assert_string_equal(code_of_long(*llm, ANSWER_MAX_BYTES + 1, false), "APIError");
    assert_string_equal(code_of_long(*llm, EVENT_MAX_BYTES, true), "");
    assert_string_equal(code_of_long(*llm, EVENT_MAX_BYTES + 1, true), "APIError");
}

/* A kept connection may end while the answer is waited for: the body was freed by then. */
static void request_on_a_kept_connection_is_sent_again(void **state)
{
    static const enum test_ending endings[] = {TEST_CLOSE, TEST_RESET};
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        const struct test_reply replies[] = {
            {.bytes = KEPT_ANSWER}, {.bytes = "", .ending = endings[i]}, {.bytes = KEPT_ANSWER}};
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);

        for (size_t n = 0; n < 2; n++) {
            struct asked asked;

            assert_int_equal(ask_server(&asked, *llm, server, "{\"num_retries\":1}"), 0);
            assert_string_equal(asked.reply.text, "x");
            asked_done(&asked);
        }
        assert_int_equal(test_server_n_requests(server), 3);
        assert_string_equal(test_server_request(server, 2), test_server_request(server, 1));
        test_server_stop(server);
    }
}

/* Runs a second call whose request is answered by the second reply, and sent again to the third. */
static struct asked ask_on_kept(struct llm *llm, const struct test_reply *second,
                                const struct test_reply *third, size_t *n_requests_out)
{
    const struct test_reply replies[] = {{.bytes = KEPT_ANSWER}, *second, *third};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct asked first;
    struct asked asked;

    assert_int_equal(ask_server(&first, llm, server, "{\"num_retries\":1}"), 0);
    asked_done(&first);
    assert_int_equal(ask_server(&asked, llm, server, "{\"num_retries\":1,\"timeout\":2}"), -1);
    *n_requests_out = test_server_n_requests(server);
    test_server_stop(server);
    return asked;
}

static void request_is_sent_again_once(void **state)
{
    const struct test_reply close = {.bytes = "", .ending = TEST_CLOSE};
    struct llm *const *llm = *state;
    size_t n_requests = 0;
    struct asked asked = ask_on_kept(*llm, &close, &close, &n_requests);

    assert_string_equal(llm_failure_code(&asked.failure), "LLMServiceUnavailableError");
    assert_int_equal(n_requests, 3);
    asked_done(&asked);
}

static void request_sent_again_has_the_rest_of_its_time(void **state)
{
    const struct test_reply second = {.bytes = "", .delay_ms = 1500, .ending = TEST_CLOSE};
    const struct test_reply third = {.bytes = KEPT_ANSWER, .delay_ms = 1900};
    struct llm *const *llm = *state;
    size_t n_requests = 0;
    struct asked asked = ask_on_kept(*llm, &second, &third, &n_requests);

    assert_string_equal(llm_failure_code(&asked.failure), "LLMTimeoutError");
    asked_done(&asked);
}

/* --- the stack of a thread that waits --- */

enum { DEEP_BYTES = 128 * 1024 };

/* A thread whose stack was deep once, and asks a server. */
struct deep_thread {
    struct llm *llm;
    struct test_server *server;
    struct asked asked;
    int rc;
    bool is_resident; /* the deepest page, after the answer */
};

/* The first whole page of a deep frame. */
static __attribute__((noinline)) void *touch_deep(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    volatile char deep[DEEP_BYTES];

    for (size_t i = 0; i < sizeof(deep); i++)
        deep[i] = 1;
    return (void *)(((uintptr_t)deep + page - 1) & ~(page - 1));
}

static void *ask_after_depth(void *context)
{
    struct deep_thread *thread = context;
    void *page = touch_deep();
    unsigned char resident = 0;

    asked_init(&thread->asked, thread->llm, "openai/test", test_server_url(thread->server, "/v1"),
               "{}");
    thread->asked.releases_stack = true;
    thread->rc = asked_run(&thread->asked);
    thread->is_resident = mincore(page, 1, &resident) == 0 && (resident & 1U) != 0;
    return NULL;
}

static bool keeps_its_stack(struct llm *llm, const struct test_reply *reply)
{
    struct deep_thread deep = {.llm = llm, .server = test_server_start(reply, 1, NULL)};
    pthread_t thread = 0;

    assert_int_equal(pthread_create(&thread, NULL, ask_after_depth, &deep), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(deep.rc, 0);
    assert_string_equal(deep.asked.reply.text, "x");
    asked_done(&deep.asked);
    test_server_stop(deep.server);
    return deep.is_resident;
}

static void stack_is_released_while_an_answer_is_late(void **state)
{
    static const struct test_reply late[] = {
        {.bytes = HEAD("application/json") WHOLE, .delay_ms = 400, .ending = TEST_CLOSE},
        {.bytes = HEAD("text/event-stream") STREAM, .delay_ms = 400, .ending = TEST_CLOSE}};
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(late); i++)
        assert_false(keeps_its_stack(*llm, &late[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_is_read_as_what_it_is),
        cmocka_unit_test(cost_is_the_proxys_if_it_is_one),
        cmocka_unit_test(headers_of_the_specification_are_sent_if_they_are_texts),
        cmocka_unit_test(pieces_are_passed_on_as_they_come),
        cmocka_unit_test(answers_and_events_have_a_largest_size),
        cmocka_unit_test(request_on_a_kept_connection_is_sent_again),
        cmocka_unit_test(request_is_sent_again_once),
        cmocka_unit_test(request_sent_again_has_the_rest_of_its_time),
        cmocka_unit_test(stack_is_released_while_an_answer_is_late),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
