#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "llm/llm_error.h"
#include "llm/llm_fixture.h"

/* A refusal, the error that it becomes, and the number of attempts (at most three). */
struct refusal {
    const char *status;
    const char *body;
    const char *code;
    size_t n_requests;
};

static const struct refusal refusals[] = {
    {"401 No", "{\"error\":{\"message\":\"bad\"}}", "LLMAuthenticationError", 1},
    {"403 No", "{}", "LLMAuthenticationError", 1},
    {"400 Bad", "{\"error\":{\"message\":\"invalid api key\"}}", "LLMAuthenticationError", 1},
    {"400 Bad", "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}",
     "LLMContextWindowExceedError", 1},
    {"400 Bad", "{\"error\":\"This model's maximum context length is 5\"}",
     "LLMContextWindowExceedError", 1},
    {"400 Bad",
     "{\"error\":{\"message\":\"An assistant message with 'tool_calls' must be followed by"
     " tool messages responding to each 'tool_call_id'\"}}",
     "LLMMalformedConversationHistoryError", 1},
    {"400 Bad", "{\"error\":{\"message\":\"x\",\"code\":\"content_filter\"}}",
     "LLMContentPolicyViolationError", 1},
    {"400 Bad", "{\"detail\":\"what\"}", "LLMBadRequestError", 1},
    {"413 Big", "too big", "LLMBadRequestError", 1},
    {"422 Odd", "", "LLMBadRequestError", 1},
    {"404 No", "{\"error\":{\"message\":\"model not found\"}}", "NotFoundError", 1},
    {"402 Pay", "", "APIError", 1},
    {"302 Found", "", "APIError", 1},
    {"408 Slow", "", "LLMTimeoutError", 3},
    {"409 Busy", "", "APIError", 3},
    {"429 Slow", "{\"error\":{\"message\":\"slow down\"}}", "LLMRateLimitError", 3},
    {"429 Slow", "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}",
     "LLMRateLimitError", 1},
    {"429 Slow", "{\"error\":{\"message\":\"usage_limit_reached\"}}", "LLMRateLimitError", 1},
    {"400 Bad", "{\"error\":{\"message\":\"Budget has been exceeded!\"}}", "LLMBadRequestError", 1},
    {"500 Oops", "{\"error\":{\"message\":\"boom\"}}", "LLMServiceUnavailableError", 3},
    {"502 Oops", "<html>bad gateway</html>", "BadGatewayError", 3},
    {"503 Oops", "", "LLMServiceUnavailableError", 3},
    {"504 Oops", "", "LLMTimeoutError", 3},
    {"529 Oops", "{\"error\":{\"message\":\"Overloaded\"}}", "LLMServiceUnavailableError", 3},
    {"500 Oops", "{\"error\":{\"message\":\"litellm.AuthenticationError: no\"}}",
     "LLMAuthenticationError", 1},
    {"500 Oops", "{\"error\":{\"message\":\"litellm.BadRequestError: prompt is too long\"}}",
     "LLMContextWindowExceedError", 1},
};

static void refusals_have_the_contracts_names(void **state)
{
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct test_reply reply = {.bytes = NULL};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", refusals[i].status,
                       strlen(refusals[i].body), refusals[i].body);
        reply.bytes = text.text;
        server = test_server_start(&reply, 1, NULL);
        assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
        if (strcmp(llm_failure_code(&asked.failure), refusals[i].code) != 0 ||
            test_server_n_requests(server) != refusals[i].n_requests)
            fail_msg("%s %s: %s after %zu requests", refusals[i].status, refusals[i].body,
                     llm_failure_code(&asked.failure), test_server_n_requests(server));
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void servers_out_of_order_are_told_from_refusals(void **state)
{
    static const struct {
        const char *status;
        const char *body;
        bool is_outage;
        int64_t retry_after_ms;
    } cases[] = {
        {"502 Oops", "", true, -1},
        {"503 Oops\r\nRetry-After: 0", "", true, 0},
        {"504 Oops", "", true, -1},
        {"529 Oops", "", true, -1},
        {"500 Oops", "{\"error\":{\"message\":\"Overloaded\"}}", true, -1},
        {"500 Oops", "{\"error\":{\"message\":\"litellm.Timeout: no\"}}", true, -1},
        {"500 Oops", "boom", false, -1},
        {"503 Oops", "{\"error\":{\"message\":\"insufficient_quota\"}}", false, -1},
        {"429 Slow", "", false, -1},
        {"409 Busy", "", false, -1},
        {"401 No", "", false, -1},
        {"400 Bad", "", false, -1},
        {"404 No", "", false, -1},
        {"200 OK", "", false, -1},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct test_reply reply = {.bytes = NULL};
        struct test_server *server = NULL;
        struct asked asked;

        strbuf_appendf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", cases[i].status,
                       strlen(cases[i].body), cases[i].body);
        reply.bytes = text.text;
        server = test_server_start(&reply, 1, NULL);
        assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
        if (asked.failure.is_outage != cases[i].is_outage ||
            asked.failure.retry_after_ms != cases[i].retry_after_ms)
            fail_msg("%s %s: %d, %lld", cases[i].status, cases[i].body, asked.failure.is_outage,
                     (long long)asked.failure.retry_after_ms);
        asked_done(&asked);
        test_server_stop(server);
    }
}

static void server_that_cannot_be_reached_is_out_of_order(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "openai/test", "http://127.0.0.1:1", "{}");
    assert_int_equal(asked_run(&asked), -1);
    assert_true(asked.failure.is_outage);
    asked_done(&asked);
}

static void key_is_not_repeated(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 401 No\r\nContent-Length: 32\r\n\r\nsk-unit-test: sk-unit-test is no"}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
    assert_null(strstr(asked.failure.detail, "sk-unit-test"));
    assert_null(strstr(asked.err.message, "sk-unit-test"));
    assert_non_null(strstr(asked.failure.detail, "<secret-hidden>: <secret-hidden> is no"));
    asked_done(&asked);
    test_server_stop(server);
}

static struct secret secret_of(const char *key)
{
    struct secret secret = SECRET_INIT;

    secret_set(&secret, key);
    return secret;
}

/* Error messages that contain the key that was sent. */
static void expect_detail(const char *key, const char *words, const char *expected)
{
    CLEANUP(secret_done) struct secret secret = secret_of(key);
    const struct llm_request request = {.api_key = &secret};
    struct llm_error llm_error = LLM_ERROR_INIT;

    llm_error.request = &request;
    (void)llm_error_set(&llm_error, LLM_CAUSE_UNAVAILABLE, "%s", words);
    assert_string_equal(llm_error.detail, expected);
}

static void key_is_hidden_in_all_its_forms(void **state)
{
    (void)state;
    expect_detail("sk-unit-te&t", "Bearer sk-unit-te&t", "Bearer <secret-hidden>");
    expect_detail("sk-unit-te&t", "Basic OnNrLXVuaXQtdGUmdA==", "Basic On<secret-hidden>");
    expect_detail("sk-unit-te&t", "key=sk-unit-te%26t", "key=<secret-hidden>");
    expect_detail("sk-unit-te&t", "{\"key\":\"sk-unit-te\\u0026t\"}",
                  "{\"key\":\"<secret-hidden>\"}");
    expect_detail("sk-unit-te&t", "0x736b2d756e69742d74652674", "0x<secret-hidden>");
}

static void placeholder_of_a_key_leaves_the_words_alone(void **state)
{
    (void)state;
    expect_detail("k", "The broker broke off.", "The broker broke off.");
    expect_detail("broke", "The broker broke off.", "The broker broke off.");
    expect_detail("server", "The server broke off.", "The <secret-hidden> broke off.");
}

/* Where the words are cut: in the middle of the key, which is not known again by its half. */
static void half_a_key_is_not_shown(void **state)
{
    static const char key[] = "sk-unit-test-0123456789";
    CLEANUP(secret_done) struct secret secret = secret_of(key);
    const struct llm_request request = {.api_key = &secret};

    (void)state;
    for (size_t before = 250; before < LLM_DETAIL_BYTES; before++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;

        llm_error.request = &request;
        for (size_t i = 0; i < before; i++)
            strbuf_append_char(&body, '.');
        strbuf_appendf(&body, "%s is no key", key);
        llm_error_from_answer(&llm_error, 401, body.text, body.len);
        assert_null(strstr(llm_error.detail, "sk-uni"));
        llm_error_set(&llm_error, LLM_CAUSE_API, "%s", body.text);
        assert_null(strstr(llm_error.detail, "sk-uni"));
    }
}

static const struct test_reply slow_then_good[] = {
    {.bytes = "HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"},
    {.bytes = TEST_JSON_HEAD "{\"choices\":[{\"message\":{\"content\":\"good\"}}]}",
     .ending = TEST_CLOSE}};

static void retry_after_is_kept(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(slow_then_good, 2, NULL);
    int64_t began_ms = clock_monotonic_ms();
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), 0);
    /* A wait of its own choice would be of eight seconds. */
    assert_in_range(clock_monotonic_ms() - began_ms, 1000, 7999);
    assert_string_equal(asked.reply.text, "good");
    asked_done(&asked);
    test_server_stop(server);
}

static void absurd_retry_after_is_not_waited_for(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 429 Slow\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n"}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    assert_non_null(strstr(asked.failure.detail, "The server asks to wait 86400 seconds."));
    asked_done(&asked);
    test_server_stop(server);
}

/* The status says that too much was asked; the code that waiting is no use. */
static void an_empty_account_is_told_by_its_code(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP/1.1 429 No\r\nRetry-After: 60\r\nContent-Length: 53\r\n\r\n"
                  "{\"error\":{\"message\":\"x\",\"code\":\"insufficient_quota\"}}"}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(replies, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    assert_non_null(strstr(asked.failure.detail, "x (error code: 429, insufficient_quota)"));
    assert_null(strstr(asked.failure.detail, "asks to wait"));
    asked_done(&asked);
    test_server_stop(server);
}

/* The calls of a listener, one line for each attempt. */
static void note_attempt(void *owner, const struct llm_attempt *attempt)
{
    strbuf_appendf(owner, "%d of %d: %s\n", attempt->retry_in_ms == 0, (int)attempt->n_attempts,
                   attempt->reason);
}

static void a_failed_attempt_is_told_before_the_wait(void **state)
{
    struct llm *const *llm = *state;
    CLEANUP(strbuf_done) struct strbuf told = STRBUF_INIT;
    const struct llm_listener listener = {.failed = note_attempt, .owner = &told};
    struct test_server *server = test_server_start(slow_then_good, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, "openai/test", test_server_url(server, ""), "{\"num_retries\":2}");
    asked.listener = &listener;
    assert_int_equal(asked_run(&asked), -1);
    assert_string_equal(
        told.text, "0 of 2: The model's server refused the call: no words (error code: 429)\n"
                   "1 of 0: The model's server refused the call: no words (error code: 429)\n");
    asked_done(&asked);
    test_server_stop(server);
}

struct cancelling {
    struct llm_call *call;
    struct test_server *server;
};

static void *cancel_after_request(void *context)
{
    struct cancelling *cancelling = context;

    (void)test_server_wait(cancelling->server, 1);
    llm_call_cancel(cancelling->call);
    return NULL;
}

/* Less than the minute that each wait would last. */
#define NO_WAIT_MS 50000

static void assert_cancel_is_quick(struct llm *llm, const struct test_reply *reply)
{
    struct test_server *server = test_server_start(reply, 1, NULL);
    int64_t began_ms = clock_monotonic_ms();
    struct cancelling cancelling = {.server = server};
    struct asked asked;
    pthread_t thread = 0;

    asked_init(&asked, llm, "openai/test", test_server_url(server, ""),
               "{\"retry_min_wait\":60,\"retry_max_wait\":60,\"timeout\":60}");
    cancelling.call = asked.call;
    assert_int_equal(pthread_create(&thread, NULL, cancel_after_request, &cancelling), 0);
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(asked.err.code, ERROR_CANCELLED);
    assert_string_equal(llm_failure_code(&asked.failure), "OperationCancelled");
    assert_true(clock_monotonic_ms() - began_ms < NO_WAIT_MS);
    (void)pthread_join(thread, NULL);
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(asked.err.code, ERROR_CANCELLED);
    asked_done(&asked);
    test_server_stop(server);
}

static void cancel_ends_a_call(void **state)
{
    static const struct test_reply reply = {.bytes = "", .ending = TEST_HOLD};
    struct llm *const *llm = *state;

    assert_cancel_is_quick(*llm, &reply);
}

static void cancel_ends_a_stream(void **state)
{
    static const struct test_reply reply = {.bytes = TEST_SSE_HEAD TEST_TEXT("a"),
                                            .ending = TEST_HOLD};
    struct llm *const *llm = *state;

    assert_cancel_is_quick(*llm, &reply);
}

static void cancel_ends_a_wait_for_the_next_attempt(void **state)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 503 No\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"};
    struct llm *const *llm = *state;

    assert_cancel_is_quick(*llm, &reply);
}

static void silent_server_is_a_timeout(void **state)
{
    static const struct test_reply reply = {.bytes = "", .ending = TEST_HOLD};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{\"timeout\":1}"), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "LLMTimeoutError");
    assert_int_equal(test_server_n_requests(server), 3);
    asked_done(&asked);
    test_server_stop(server);
}

static void missing_server_is_unavailable(void **state)
{
    struct llm *const *llm = *state;
    struct asked asked;

    asked_init(&asked, *llm, "openai/test", "http://127.0.0.1:1/v1", "{}");
    assert_int_equal(asked_run(&asked), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "LLMServiceUnavailableError");
    /* The page tells a server that is not there from one with a fault by words of libcurl. */
    assert_true(strcasestr(asked.failure.detail, "couldn't connect") != NULL ||
                strcasestr(asked.failure.detail, "could not connect") != NULL);
    asked_done(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_have_the_contracts_names),
        cmocka_unit_test(servers_out_of_order_are_told_from_refusals),
        cmocka_unit_test(server_that_cannot_be_reached_is_out_of_order),
        cmocka_unit_test(key_is_not_repeated),
        cmocka_unit_test(placeholder_of_a_key_leaves_the_words_alone),
        cmocka_unit_test(key_is_hidden_in_all_its_forms),
        cmocka_unit_test(half_a_key_is_not_shown),
        cmocka_unit_test(retry_after_is_kept),
        cmocka_unit_test(absurd_retry_after_is_not_waited_for),
        cmocka_unit_test(an_empty_account_is_told_by_its_code),
        cmocka_unit_test(a_failed_attempt_is_told_before_the_wait),
        cmocka_unit_test(cancel_ends_a_call),
        cmocka_unit_test(cancel_ends_a_stream),
        cmocka_unit_test(cancel_ends_a_wait_for_the_next_attempt),
        cmocka_unit_test(silent_server_is_a_timeout),
        cmocka_unit_test(missing_server_is_unavailable),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
