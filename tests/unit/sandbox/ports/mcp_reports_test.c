/*
 * Progress that a program reports of its calls: it renews their time, and requests wait for it. The
 * clock is the tests': they pass time.
 */
#include "sandbox/ports/mcp_program.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "model/tools/mcp.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/ports/mcp_calls.h"
#include "unit/sandbox/tools_tests.h"

enum { CALL_MS = 60000, PASSED_MS = 50000 };

#define PROGRESS_PATH "/conversations/" CALLS_CONVERSATION "/progress"

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the clock takes no context */
static int64_t passed_ms;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ld's */
int64_t __real_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int64_t __wrap_clock_monotonic_ms(void)
{
    return __real_clock_monotonic_ms() + passed_ms;
}

static void on_tick(void *owner)
{
    *(bool *)owner = true;
}

/* Lets time pass, and what is due then happen. */
static void pass(struct action_bench *bench, int64_t ms)
{
    bool has_ticked = false;
    struct event_loop_timer tick = {.expired = on_tick, .owner = &has_ticked};

    passed_ms += ms;
    event_loop_timer_set(bench->server.loop, &tick, 0);
    bench_run_until(bench, &has_ticked);
}

/* A call that waits for "release", with that id; the first request of the program has id 2. */
static int hold(struct action_bench *bench, const char *id)
{
    return bench_send(bench, bench_text(bench, "PUT /actions/%s", id), CALLS_HEADERS,
                      bench_text(bench,
                                 "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":"
                                 "\"tools/call\",\"name\":\"hold\"},\"program\":{\"command\":"
                                 "\"%s/server\",\"env\":{}},\"timeout_ms\":%d}",
                                 bench->workspace, CALL_MS));
}

static void progress_renews_the_time_of_a_call(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = hold(bench, "held");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    for (int i = 0; i < 3; i++) {
        assert_call(bench, "report", PART, "\"reported\"");
        pass(bench, PASSED_MS);
    }
    assert_call(bench, "release", PART, "\"free\"");
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, PART, "\"held 2\"");
}

static void silence_after_progress_ends_a_call(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = hold(bench, "held");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_call(bench, "report", PART, "\"reported\"");
    pass(bench, PASSED_MS);
    pass(bench, PASSED_MS);
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation.error", "\"The program did not reply in time\"");
}

static void no_progress_renews_beyond_an_hour(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = hold(bench, "held");
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    for (int64_t ms = 0; ms < MCP_CALL_MAX_MS; ms += PASSED_MS) {
        assert_call(bench, "report", PART, "\"reported\"");
        pass(bench, PASSED_MS);
    }
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "observation.error", "\"The program did not reply in time\"");
}

/* A list has no token, and a run waits for it. */
static void progress_does_not_renew_the_time_of_a_list(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int list = bench_send(bench, "PUT /actions/list", CALLS_HEADERS,
                          bench_text(bench,
                                     "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":"
                                     "\"tools/list\"},\"program\":{\"command\":\"%s/server\","
                                     "\"env\":{\"LATE\":\"1\"}},\"timeout_ms\":%d}",
                                     bench->workspace, CALL_MS));
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    for (int i = 0; i < 2; i++) {
        CLEANUP(bench_reply_done) struct bench_reply told =
            bench_receive(bench, call_of(bench, CALLS_HEADERS, "report", "{\"LATE\":\"1\"}", ""));

        assert_reply(told, 200, PART, "\"reported\"");
        pass(bench, PASSED_MS);
    }
    reply = bench_receive(bench, list);
    assert_reply(reply, 200, "observation.error", "\"The program did not reply in time\"");
}

static void newest_report_of_each_call_is_told(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int clients[2];

    clients[0] = hold(bench, "one");
    assert_call(bench, "report", PART, "\"reported\"");
    clients[1] = hold(bench, "two");
    assert_call(bench, "report", PART, "\"reported\"");
    /* Its own report is of no interest any more. */
    assert_call(bench, "finish", PART, "\"finished\"");
    assert_answers(bench, "GET " PROGRESS_PATH "?after=1", CALLS_HEADERS, NULL, 200, "",
                   "{\"seq\":4,\"calls\":{"
                   "\"one\":{\"seq\":3,\"progress\":3.0,\"total\":9.0,\"message\":\"of 2\"},"
                   "\"two\":{\"seq\":2,\"progress\":2.0,\"total\":9.0,\"message\":\"of 4\"}}}");
    assert_call(bench, "release", PART, "\"free\"");
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        CLEANUP(bench_reply_done) struct bench_reply reply = bench_receive(bench, clients[i]);

        assert_reply(reply, 200, "observation.is_error", "false");
    }
    assert_answers(bench, "GET " PROGRESS_PATH, CALLS_HEADERS, NULL, 200, "",
                   "{\"seq\":4,\"calls\":{}}");
}

static void request_waits_for_the_next_report(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int held = hold(bench, "held");
    int waiting[] = {bench_send(bench, "GET " PROGRESS_PATH "?after=0", CALLS_HEADERS, NULL),
                     bench_send(bench, "GET " PROGRESS_PATH, CALLS_HEADERS, NULL)};
    CLEANUP(bench_reply_done) struct bench_reply reply = {0, STRBUF_INIT, STRBUF_INIT};

    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    assert_call(bench, "report", PART, "\"reported\"");
    for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
        CLEANUP(bench_reply_done) struct bench_reply told = bench_receive(bench, waiting[i]);

        assert_reply(told, 200, "seq", "1");
        assert_reply(told, 200, "calls.held.message", "\"of 2\"");
    }
    /* One that waits for the next one learns of the conversation's end. */
    waiting[0] = bench_send(bench, "GET " PROGRESS_PATH "?after=1", CALLS_HEADERS, NULL);
    assert_answers(bench, "GET /alive", "", NULL, 200, "status", "\"ok\"");
    assert_answers(bench, "DELETE /conversations/" CALLS_CONVERSATION, CALLS_HEADERS, "{}", 200,
                   "success", "true");
    reply = bench_receive(bench, waiting[0]);
    assert_reply(reply, 200, "seq", "1");
    bench_reply_done(&reply);
    reply = bench_receive(bench, held);
    assert_reply(reply, 200, "state", "\"interrupted\"");
}

static void requests_for_progress_are_checked(void **state)
{
    struct action_bench *bench = *state;
    CLEANUP(fd_close) int pipe = begin(bench);
    int clients[MAX_WAITERS];

    assert_answers(bench, "GET " PROGRESS_PATH, CALLS_HEADERS, NULL, 404, "detail",
                   "\"the conversation has no action\"");
    assert_answers(bench, "GET /conversations/none/progress", CALLS_HEADERS, NULL, 400, "detail",
                   "\"not a conversation id\"");
    assert_answers(bench, "GET " PROGRESS_PATH "?after=x", CALLS_HEADERS, NULL, 400, "calls", NULL);
    assert_call(bench, "count", "observation.is_error", "false");
    for (size_t i = 0; i < MAX_WAITERS; i++)
        clients[i] = bench_send(bench, "GET " PROGRESS_PATH, CALLS_HEADERS, NULL);
    assert_answers(bench, "GET " PROGRESS_PATH, CALLS_HEADERS, NULL, 429, "detail",
                   "\"too many requests are waiting for this\"");
    for (size_t i = 0; i < MAX_WAITERS; i++)
        fd_close(&clients[i]);
    assert_answers(bench, "GET " PROGRESS_PATH "?after=7", CALLS_HEADERS, NULL, 200, "",
                   "{\"seq\":0,\"calls\":{}}");
}

int mcp_reports_tests(void)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(progress_renews_the_time_of_a_call),
        BENCH_TEST(silence_after_progress_ends_a_call),
        BENCH_TEST(no_progress_renews_beyond_an_hour),
        BENCH_TEST(progress_does_not_renew_the_time_of_a_list),
        BENCH_TEST(newest_report_of_each_call_is_told),
        BENCH_TEST(request_waits_for_the_next_report),
        BENCH_TEST(requests_for_progress_are_checked),
    };

    return cmocka_run_group_tests_name("mcp_reports", tests, NULL, NULL);
}
