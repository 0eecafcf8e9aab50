/*
 * How often a call is tried, how long each wait may be, and what is counted in the end.
 */
#include "llm/llm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm_fixture.h"

enum { ATTEMPTS_MAX = 20, RUNS = 40 };

static const struct test_reply busy[] = {
    {.bytes = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"}};

static void call_is_tried_as_often_as_the_specification_says(void **state)
{
    static const struct {
        const char *spec;
        size_t n;
    } cases[] = {
        {"{\"num_retries\":null}", 5}, {"{\"num_retries\":\"x\"}", 5}, {"{\"num_retries\":0}", 1},
        {"{\"num_retries\":-3}", 1},   {"{\"num_retries\":1}", 1},     {"{\"num_retries\":2}", 2},
        {"{\"num_retries\":20}", 20},  {"{\"num_retries\":21}", 20},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_server *server = test_server_start(busy, 1, NULL);
        struct asked asked;

        assert_int_equal(ask_server(&asked, *llm, server, cases[i].spec), -1);
        if (test_server_n_requests(server) != cases[i].n)
            fail_msg("%s: %zu", cases[i].spec, test_server_n_requests(server));
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* Of a model that was out of order a moment ago. */
static void single_attempt_has_no_retry(void **state)
{
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(busy, 1, NULL);
    struct asked asked;

    asked_init(&asked, *llm, "openai/test", test_server_url(server, ""), "{\"num_retries\":5}");
    asked.is_single_attempt = true;
    assert_int_equal(asked_run(&asked), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    asked_done(&asked);
    test_server_stop(server);
}

static void default_retries_are_known_from_others(void **state)
{
    static const struct {
        const char *spec;
        bool is_default;
    } cases[] = {
        {"{}", true},
        {"{\"num_retries\":5,\"retry_multiplier\":8.0,\"retry_min_wait\":8,\"retry_max_wait\":64}",
         true},
        {"{\"num_retries\":null,\"timeout\":1}", true},
        {"{\"num_retries\":4}", false},
        {"{\"num_retries\":6}", false},
        {"{\"retry_multiplier\":0}", false},
        {"{\"retry_min_wait\":0}", false},
        {"{\"retry_max_wait\":65}", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *spec = NULL;
        struct error err = ERROR_INIT;

        assert_int_equal(json_parse(cases[i].spec, strlen(cases[i].spec), &spec, &err), 0);
        if (llm_has_default_retries(spec) != cases[i].is_default)
            fail_msg("%s", cases[i].spec);
    }
}

/* The waits of a call, which is cancelled when it is told of the last one. */
struct waits {
    struct llm_call *call;
    size_t n_max;
    size_t n;
    int64_t ms[ATTEMPTS_MAX];
};

static void note_wait(void *owner, const struct llm_attempt *attempt)
{
    struct waits *waits = owner;

    waits->ms[waits->n++] = attempt->retry_in_ms;
    if (waits->n == waits->n_max)
        llm_call_cancel(waits->call);
}

/* The longest first wait of many calls; none is waited for. */
static int64_t longest_first_wait(struct llm *llm, const struct test_reply *reply, const char *spec)
{
    struct test_server *server = test_server_start(reply, 1, NULL);
    int64_t longest_ms = 0;

    for (int i = 0; i < RUNS; i++) {
        struct waits waits = {.n_max = 1};
        const struct llm_listener listener = {.failed = note_wait, .owner = &waits};
        struct asked asked;

        asked_init(&asked, llm, "openai/test", test_server_url(server, ""), spec);
        waits.call = asked.call;
        asked.listener = &listener;
        assert_int_equal(asked_run(&asked), -1);
        assert_int_equal(asked.err.code, ERROR_CANCELLED);
        assert_int_equal(waits.n, 1);
        if (waits.ms[0] > longest_ms)
            longest_ms = waits.ms[0];
        asked_done(&asked);
    }
    test_server_stop(server);
    return longest_ms;
}

/* The bound of a wait: of forty, one is above its half, but for once in a million million. */
static void wait_is_random_up_to_its_bound(void **state)
{
    static const struct {
        const char *spec;
        int64_t bound_ms;
    } cases[] = {
        /* The defaults. */
        {"{\"retry_multiplier\":null,\"retry_min_wait\":null,\"retry_max_wait\":null}", 8000},
        {"{\"retry_multiplier\":3,\"retry_min_wait\":1,\"retry_max_wait\":64}", 3000},
        {"{\"retry_multiplier\":3,\"retry_min_wait\":20,\"retry_max_wait\":64}", 20000},
        {"{\"retry_multiplier\":30,\"retry_min_wait\":20,\"retry_max_wait\":25}", 25000},
        {"{\"retry_multiplier\":0,\"retry_min_wait\":20,\"retry_max_wait\":null}", 20000},
        {"{\"retry_multiplier\":99999,\"retry_min_wait\":0,\"retry_max_wait\":null}", 64000},
        {"{\"retry_multiplier\":99999,\"retry_min_wait\":99999,\"retry_max_wait\":99999}", 3600000},
        {"{\"retry_multiplier\":-5,\"retry_min_wait\":-5,\"retry_max_wait\":-5}", 0},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t longest_ms = longest_first_wait(*llm, busy, cases[i].spec);

        if (longest_ms > cases[i].bound_ms || longest_ms < cases[i].bound_ms / 2)
            fail_msg("%s: %lld", cases[i].spec, (long long)longest_ms);
    }
}

static void wait_that_the_server_asks_for_is_kept(void **state)
{
    static const struct test_reply longest[] = {
        {.bytes = "HTTP/1.1 429 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n"}};
    struct llm *const *llm = *state;

    assert_int_equal(longest_first_wait(*llm, longest, "{}"), 600000);
}

/* A server that names no time to come is not asked again at once; another one after its time. */
static void no_wait_at_all_is_the_backoff(void **state)
{
    static const struct test_reply none[] = {
        {.bytes = "HTTP/1.1 429 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"}};
    static const struct test_reply passed[] = {
        {.bytes = "HTTP/1.1 429 Busy\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
                  "Content-Length: 0\r\n\r\n"}};
    static const struct test_reply soon[] = {
        {.bytes = "HTTP/1.1 429 Busy\r\nretry-after-ms: 20\r\nContent-Length: 0\r\n\r\n"}};
    const char *spec = "{\"retry_multiplier\":3,\"retry_min_wait\":1,\"retry_max_wait\":64}";
    struct llm *const *llm = *state;

    assert_in_range(longest_first_wait(*llm, none, spec), 1500, 3000);
    assert_in_range(longest_first_wait(*llm, passed, spec), 1500, 3000);
    assert_int_equal(longest_first_wait(*llm, soon, spec), 20);
}

/* One second more than the longest wait: the call fails at once. */
static void longer_wait_fails_the_call(void **state)
{
    static const struct test_reply longer[] = {
        {.bytes = "HTTP/1.1 429 Busy\r\nRetry-After: 601\r\nContent-Length: 0\r\n\r\n"}};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(longer, 1, NULL);
    struct asked asked;

    assert_int_equal(ask_server(&asked, *llm, server, "{}"), -1);
    assert_string_equal(llm_failure_code(&asked.failure), "LLMRateLimitError");
    assert_int_equal(test_server_n_requests(server), 1);
    asked_done(&asked);
    test_server_stop(server);
}

/* The bound doubles with each attempt, up to the longest wait. */
static void bound_doubles_with_each_attempt(void **state)
{
    static const int64_t bounds_ms[] = {4, 8, 16, 20, 20, 20};
    struct llm *const *llm = *state;
    struct test_server *server = test_server_start(busy, 1, NULL);
    int64_t longest_ms[ARRAY_SIZE(bounds_ms)] = {0};

    for (int i = 0; i < RUNS; i++) {
        struct waits waits = {.n_max = ARRAY_SIZE(bounds_ms)};
        const struct llm_listener listener = {.failed = note_wait, .owner = &waits};
        struct asked asked;

        asked_init(&asked, *llm, "openai/test", test_server_url(server, ""),
                   "{\"retry_multiplier\":0.004,\"retry_min_wait\":0,\"retry_max_wait\":0.02,"
                   "\"num_retries\":20}");
        waits.call = asked.call;
        asked.listener = &listener;
        assert_int_equal(asked_run(&asked), -1);
        for (size_t k = 0; k < ARRAY_SIZE(bounds_ms); k++)
            longest_ms[k] = waits.ms[k] > longest_ms[k] ? waits.ms[k] : longest_ms[k];
        asked_done(&asked);
    }
    for (size_t k = 0; k < ARRAY_SIZE(bounds_ms); k++)
        assert_in_range(longest_ms[k], bounds_ms[k] / 2, bounds_ms[k]);
    test_server_stop(server);
}

/* --- time --- */

static void timeout_of_an_attempt_is_the_specifications(void **state)
{
    static const struct test_reply silent[] = {{.bytes = "", .ending = TEST_HOLD}};
    static const struct test_reply half[] = {
        {.bytes = TEST_SSE_HEAD TEST_TEXT("a"), .ending = TEST_HOLD}};
    static const struct {
        const struct test_reply *reply;
        const char *spec;
    } cases[] = {
        {silent, "{\"num_retries\":1,\"timeout\":0}"},
        {silent, "{\"num_retries\":1,\"timeout\":0.05}"},
        {silent, "{\"num_retries\":1,\"timeout\":-1}"},
        /* Silence is as long as a whole attempt, or shorter. */
        {half, "{\"num_retries\":1,\"stream\":true,\"timeout\":null,\"stream_idle_timeout\":0.05}"},
        {half, "{\"num_retries\":1,\"stream\":true,\"timeout\":0.05}"},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_server *server = test_server_start(cases[i].reply, 1, NULL);
        struct asked asked;

        assert_int_equal(ask_server(&asked, *llm, server, cases[i].spec), -1);
        assert_string_equal(llm_failure_code(&asked.failure), "LLMTimeoutError");
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* --- the second attempt --- */

static double temperature_of(struct test_server *server, size_t i)
{
    const char *body = strstr(test_server_request(server, i), "\r\n\r\n") + 4;
    struct error err = ERROR_INIT;
    json_auto_t *json = NULL;

    assert_int_equal(json_parse(body, strlen(body), &json, &err), 0);
    return json_number_or(json, "temperature", -1);
}

/* The temperatures of three attempts, in tenths; -10: none. */
static void only_silence_at_temperature_zero_is_asked_warmer(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = TEST_JSON_HEAD "{\"choices\":[]}", .ending = TEST_CLOSE},
        {.bytes = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
         .ending = TEST_CLOSE},
    };
    static const struct {
        const char *spec;
        size_t n_first; /* the first reply that is given */
        const char *temperatures;
    } cases[] = {
        {"{\"temperature\":0}", 0, "0 10 10 "},
        {"{\"temperature\":0.5}", 0, "5 5 5 "},
        {"{}", 0, "-10 -10 -10 "},
        {"{\"temperature\":0}", 1, "0 0 0 "},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;
        struct test_server *server = test_server_start(
            replies + cases[i].n_first, ARRAY_SIZE(replies) - cases[i].n_first, NULL);
        struct asked asked;

        assert_int_equal(ask_server(&asked, *llm, server, cases[i].spec), -1);
        for (size_t k = 0; k < test_server_n_requests(server); k++)
            strbuf_appendf(&seen, "%d ", (int)(10 * temperature_of(server, k)));
        assert_string_equal(seen.text, cases[i].temperatures);
        asked_done(&asked);
        test_server_stop(server);
    }
}

/* --- the end --- */

/* Which window a model has: the specification's, else the catalogue's. */
static void usage_is_completed(void **state)
{
    static const struct test_reply good[] = {
        {.bytes = TEST_JSON_HEAD
         "{\"choices\":[{\"message\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":7}}",
         .ending = TEST_CLOSE}};
    static const struct {
        const char *model;
        const char *spec;
        int64_t window;
        bool has_cost;
    } cases[] = {
        {"openai/test", "{}", 0, false},
        {"openai/test", "{\"max_input_tokens\":123}", 123, false},
        {"openai/gpt-4o", "{}", 128000, true},
        {"openai/gpt-4o", "{\"max_input_tokens\":123}", 123, true},
        {"openai/ours", "{\"model_canonical_name\":\"gpt-4o\"}", 128000, true},
    };
    struct llm *const *llm = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_server *server = test_server_start(good, 1, NULL);
        int64_t began_us = clock_utc_us();
        struct asked asked;

        asked_init(&asked, *llm, cases[i].model, test_server_url(server, ""), cases[i].spec);
        assert_int_equal(asked_run(&asked), 0);
        assert_int_equal(asked.reply.usage.context_window, cases[i].window);
        assert_int_equal(asked.reply.usage.cost > 0, cases[i].has_cost);
        assert_string_equal(asked.reply.model, cases[i].model);
        assert_true(asked.reply.usage.at_s * 1e6 >= (double)(began_us - 1000));
        assert_true(asked.reply.usage.at_s * 1e6 <= (double)(clock_utc_us() + 1000));
        assert_true(asked.reply.usage.latency_s <= (double)(clock_utc_us() - began_us) / 1e6 + 1);
        asked_done(&asked);
        test_server_stop(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_is_tried_as_often_as_the_specification_says),
        cmocka_unit_test(single_attempt_has_no_retry),
        cmocka_unit_test(default_retries_are_known_from_others),
        cmocka_unit_test(wait_is_random_up_to_its_bound),
        cmocka_unit_test(wait_that_the_server_asks_for_is_kept),
        cmocka_unit_test(no_wait_at_all_is_the_backoff),
        cmocka_unit_test(longer_wait_fails_the_call),
        cmocka_unit_test(bound_doubles_with_each_attempt),
        cmocka_unit_test(timeout_of_an_attempt_is_the_specifications),
        cmocka_unit_test(only_silence_at_temperature_zero_is_asked_warmer),
        cmocka_unit_test(usage_is_completed),
    };

    return cmocka_run_group_tests(tests, llm_fixture_set_up, llm_fixture_tear_down);
}
