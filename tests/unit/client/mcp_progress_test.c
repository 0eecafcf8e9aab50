/*
 * Model Context Protocol: progress of a call, which renews its time. The clock is the test's: what
 * is reported passes time.
 */
#include "client/mcp_fixture.h"

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/mcp_session.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_progress.h"

enum { BRIEF_MS = 200, MANY = 60000, LONGEST = 4 * 1024 * 1024 };

#define PROGRESS(token, more)                                                                      \
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"                 \
    "{\"progressToken\":" token ",\"progress\":" more "}}\n\n"
#define PING "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n"
#define REPLY "data: {\"id\":1,\"result\":{\"is\":\"right\"}}\n\n"
#define ENDPOINT "event: endpoint\ndata: /m\n\n"

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the clock takes no context */
/* The time that reports have passed. */
static int64_t passed_ms;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ld's */
int64_t __real_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int64_t __wrap_clock_monotonic_ms(void)
{
    return __real_clock_monotonic_ms() + __atomic_load_n(&passed_ms, __ATOMIC_RELAXED);
}

struct reports {
    size_t n;
    struct mcp_progress last;
    char message[100];
    int64_t pass_ms; /* at each */
};

static void on_progress(void *owner, const struct mcp_progress *progress)
{
    struct reports *reports = owner;

    reports->n++;
    reports->last = *progress;
    (void)snprintf(reports->message, sizeof(reports->message), "%s", progress->message);
    __atomic_fetch_add(&passed_ms, reports->pass_ms, __ATOMIC_RELAXED);
}

/* Calls a tool whose reports are watched; ERROR_NONE if it has its result. */
static enum error_code call(struct mcp_fixture *fixture, int64_t silence_ms,
                            struct reports *reports)
{
    const struct mcp_progress_watch watch = {silence_ms, on_progress, reports};
    CLEANUP(mcp_session_freep) struct mcp_session *session = mcp_session_new(&fixture->options);
    json_auto_t *result = NULL;

    assert_int_equal(mcp_connect(mcp_session_connection(session), &fixture->err), 0);
    if (mcp_session_call(session, "t", NULL, &watch, &result, &fixture->err) < 0)
        return fixture->err.code;
    assert_string_equal(json_text_or(result, "is", ""), "right");
    return ERROR_NONE;
}

/* The same, of a server with those replies. */
static enum error_code call_at(const struct test_reply *replies, size_t n, bool uses_sse,
                               int64_t silence_ms, struct reports *reports)
{
    struct mcp_fixture fixture;
    enum error_code code = ERROR_NONE;

    /* Waits end by the system's clock, which this one is ahead of otherwise. */
    __atomic_store_n(&passed_ms, 0, __ATOMIC_RELAXED);
    mcp_fixture_start(&fixture, replies, n, uses_sse);
    code = call(&fixture, silence_ms, reports);
    if (code == ERROR_TIMEOUT)
        assert_string_equal(fixture.err.message, "The server took too long");
    mcp_fixture_stop(&fixture);
    return code;
}

static void call_names_a_token_that_reports_repeat(void **state)
{
    static const struct test_reply reply = {
        .bytes = EVENTS_HEAD PROGRESS("1", "0.5,\"total\":2,\"message\":\"half\"")
            PROGRESS("2", "1") PROGRESS("\"1\"", "1") REPLY,
        .ending = TEST_CLOSE};
    struct reports reports = {.n = 0};
    struct mcp_fixture fixture;

    (void)state;
    mcp_fixture_start(&fixture, &reply, 1, false);
    assert_int_equal(call(&fixture, PATIENCE_MS, &reports), ERROR_NONE);
    assert_json_at(mcp_fixture_body(&fixture, 0), "params._meta", "{\"progressToken\":1}");
    assert_int_equal(reports.n, 1);
    assert_true(reports.last.done == 0.5 && reports.last.total == 2);
    assert_string_equal(reports.message, "half");
    mcp_fixture_stop(&fixture);
}

static void older_transport_reports_on_its_stream(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD ENDPOINT PROGRESS("1", "3") REPLY, .ending = TEST_HOLD},
        {.bytes = ACCEPTED},
    };
    struct reports reports = {.n = 0};

    (void)state;
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), true, PATIENCE_MS, &reports),
                     ERROR_NONE);
    assert_int_equal(reports.n, 1);
    assert_true(reports.last.done == 3);
}

/* Answers to the server's questions are only sent within the call's time. */
static void progress_renews_the_time(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD PROGRESS("1", "1") PING PROGRESS("1", "2") PING PROGRESS("1", "2")
             PING REPLY,
         .ending = TEST_CLOSE},
        {.bytes = ACCEPTED},
    };
    struct reports reports = {.pass_ms = PATIENCE_MS * 2 / 3};

    (void)state;
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), false, PATIENCE_MS, &reports),
                     ERROR_NONE);
    assert_int_equal(reports.n, 3);
}

static void silence_after_progress_ends_the_call(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD PROGRESS("1", "1") PING REPLY, .ending = TEST_CLOSE},
        {.bytes = ACCEPTED},
    };
    static const struct test_reply silent = {.bytes = EVENTS_HEAD PROGRESS("1", "1"),
                                             .ending = TEST_HOLD};
    struct reports reports = {.pass_ms = PATIENCE_MS};

    (void)state;
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), false, PATIENCE_MS, &reports),
                     ERROR_TIMEOUT);
    assert_int_equal(reports.n, 1);
    reports.pass_ms = 0;
    assert_int_equal(call_at(&silent, 1, false, BRIEF_MS, &reports), ERROR_TIMEOUT);
}

/* So do reports of other calls. */
static void other_messages_do_not_renew_the_time(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD PROGRESS("1", "1")
             PROGRESS("7", "2") "data: {\"method\":\"notifications/message\",\"params\":{}}\n\n"
                                "data: {\"method\":\"notifications/cancelled\",\"params\":"
                                "{\"requestId\":1}}\n\n" PING REPLY,
         .ending = TEST_CLOSE},
        {.bytes = ACCEPTED},
    };
    struct reports reports = {.pass_ms = 0};

    (void)state;
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), false, PATIENCE_MS, &reports),
                     ERROR_NONE);
    reports.pass_ms = PATIENCE_MS;
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), false, PATIENCE_MS, &reports),
                     ERROR_TIMEOUT);
}

static char *stream_with(const char *event, size_t n)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, EVENTS_HEAD);
    for (size_t i = 0; i < n; i++)
        strbuf_append(&text, event);
    strbuf_append(&text, REPLY);
    return strbuf_take(&text);
}

static void no_progress_renews_beyond_an_hour(void **state)
{
    CLEANUP(mem_freep) char *text = stream_with(PROGRESS("1", "1") PING, 100);
    const struct test_reply replies[] = {{.bytes = text, .ending = TEST_CLOSE},
                                         {.bytes = ACCEPTED}};
    struct reports reports = {.pass_ms = PATIENCE_MS - 10000};

    (void)state;
    assert_int_equal(MCP_CALL_MAX_MS, 60 * 60 * 1000);
    assert_int_equal(call_at(replies, ARRAY_SIZE(replies), false, PATIENCE_MS, &reports),
                     ERROR_TIMEOUT);
    assert_int_equal(reports.n, MCP_CALL_MAX_MS / (PATIENCE_MS - 10000));
    /* Nor is a longer silence granted. */
    reports = (struct reports){.pass_ms = MCP_CALL_MAX_MS};
    assert_int_equal(
        call_at(replies, ARRAY_SIZE(replies), false, 2 * (int64_t)MCP_CALL_MAX_MS, &reports),
        ERROR_TIMEOUT);
}

/* All of them together may be longer than a reply. */
static void any_number_of_notifications_may_come_first(void **state)
{
    static const char *const events[] = {
        PROGRESS("1", "1"),
        PROGRESS("9", "1"),
        "data: {\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":"
        "\"something that the server wants to be logged\"}}\n\n",
        "data: {\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":"
        "\"nobody has asked for that\"}}\n\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        CLEANUP(mem_freep) char *text = stream_with(events[i], MANY);
        const struct test_reply reply = {.bytes = text, .ending = TEST_CLOSE};
        struct reports reports = {.n = 0};

        assert_true(strlen(text) > LONGEST);
        assert_int_equal(call_at(&reply, 1, false, PATIENCE_MS, &reports), ERROR_NONE);
        assert_int_equal(reports.n, i == 0 ? MANY : 0);
    }
}

/* A call that nothing watches has its connection's time. */
static void unwatched_progress_is_ignored(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = EVENTS_HEAD PROGRESS("1", "1") REPLY, .ending = TEST_CLOSE},
        {.bytes = EVENTS_HEAD PROGRESS("2", "1") "data: {\"id\":2,\"result\":{}}\n\n",
         .ending = TEST_CLOSE},
    };
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    struct reports reports = {.n = 0};
    const struct mcp_progress_watch watch = {PATIENCE_MS, on_progress, &reports};
    struct mcp_fixture fixture;
    json_auto_t *first = NULL;
    json_auto_t *second = NULL;

    (void)state;
    mcp_fixture_start(&fixture, replies, ARRAY_SIZE(replies), false);
    session = mcp_session_new(&fixture.options);
    assert_int_equal(mcp_session_call(session, "t", NULL, &watch, &first, &fixture.err), 0);
    assert_int_equal(mcp_session_call(session, "t", NULL, NULL, &second, &fixture.err), 0);
    assert_int_equal(reports.n, 1);
    mcp_session_freep(&session);
    mcp_fixture_stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_names_a_token_that_reports_repeat),
        cmocka_unit_test(older_transport_reports_on_its_stream),
        cmocka_unit_test(progress_renews_the_time),
        cmocka_unit_test(silence_after_progress_ends_the_call),
        cmocka_unit_test(other_messages_do_not_renew_the_time),
        cmocka_unit_test(no_progress_renews_beyond_an_hour),
        cmocka_unit_test(any_number_of_notifications_may_come_first),
        cmocka_unit_test(unwatched_progress_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
