/*
 * The requests to a sandbox about its bash commands, as a server sees them, and its answers; and
 * how the service thread learns of them.
 */
#include "gateway/bash/bash_request.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/http.h"
#include "client/sandbox_call.h"
#include "client/test_server.h"
#include "gateway/core/async_http.h"

enum { PATIENCE_MS = 60000, LONGER_BYTES = 9 << 20 };

#define SESSION_KEY "the session key"
#define HEAD "HTTP/1.1 200 OK\r\nContent-Length: "
#define EMPTY_PAGE HEAD "12\r\n\r\n{\"items\":[]}"

struct request_fixture {
    struct async_http http;
    struct sandbox_endpoint endpoint;
    struct test_server *server;
};

/* A call and what its end told. */
struct noted_call {
    struct async_call call;
    struct async_call *dropped; /* by the callback; NULL: none */
    bool is_of_command;
    size_t n_over;
    int rc;
    json_t *page;
    struct error err;
};

static void on_done(struct async_call *call, const struct http_call *answer,
                    const struct error *failure)
{
    struct noted_call *noted = (struct noted_call *)(void *)call; /* its first member */

    assert_false(async_call_is_busy(call));
    noted->n_over++;
    if (noted->is_of_command)
        noted->rc = bash_request_read_accepted(answer, failure, &noted->err);
    else
        noted->rc = bash_request_read_page(answer, failure, &noted->page, &noted->err);
    if (noted->dropped != NULL)
        async_call_drop(noted->dropped);
}

static struct bash_target start(struct request_fixture *fixture, const struct test_reply *replies,
                                size_t n)
{
    struct error err = ERROR_INIT;

    *fixture = (struct request_fixture){.endpoint = SANDBOX_ENDPOINT_INIT};
    assert_int_equal(async_http_open(&fixture->http, &err), 0);
    fixture->server = test_server_start(replies, n, NULL);
    fixture->endpoint.url = mem_dup_text(test_server_url(fixture->server, ""));
    sandbox_endpoint_set_keys(&fixture->endpoint, SESSION_KEY, SANDBOX_KEYS_OLD);
    return (struct bash_target){&fixture->http, &fixture->endpoint};
}

static void stop(struct request_fixture *fixture)
{
    async_http_close(&fixture->http);
    assert_int_equal(fixture->http.done_fd, -1);
    test_server_stop(fixture->server);
    sandbox_endpoint_done(&fixture->endpoint);
}

/* Pumps until the call is over. */
static void await(struct request_fixture *fixture, const struct noted_call *noted)
{
    while (noted->n_over == 0) {
        struct pollfd polled = {.fd = fixture->http.done_fd, .events = POLLIN};

        assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
        async_http_pump(&fixture->http);
    }
    assert_int_equal(noted->n_over, 1);
    assert_true(LIST_EMPTY(&fixture->http.calls));
}

static void assert_request(struct request_fixture *fixture, size_t i, const char *line,
                           const char *end)
{
    const char *text = test_server_request(fixture->server, i);

    if (strncmp(text, line, strlen(line)) != 0)
        fail_msg("%s", text);
    assert_non_null(strstr(text, "\r\nX-Session-API-Key: " SESSION_KEY "\r\n"));
    assert_true(strlen(text) > strlen(end));
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* --- requests --- */

static void pages_are_asked_for_by_time(void **state)
{
    static const struct test_reply replies[] = {{.bytes = EMPTY_PAGE}};
    struct request_fixture fixture;
    const struct bash_target target = start(&fixture, replies, 1);
    struct noted_call newest = {.call = {.done = on_done}, .err = ERROR_INIT};
    struct noted_call after = newest;
    struct error err = ERROR_INIT;

    (void)state;
    assert_false(async_call_is_busy(&newest.call));
    assert_int_equal(bash_request_newest(&target, &newest.call, &err), 0);
    assert_true(async_call_is_busy(&newest.call));
    await(&fixture, &newest);
    assert_int_equal(bash_request_after(&target, &after.call, 1999999, 25000, &err), 0);
    await(&fixture, &after);
    assert_request(
        &fixture, 0,
        "GET /api/bash/bash_events/search?sort_order=TIMESTAMP_DESC&limit=1 HTTP/1.1\r\n",
        "\r\n\r\n");
    assert_request(&fixture, 1,
                   "GET /api/bash/bash_events/search?sort_order=TIMESTAMP&limit=4"
                   "&timestamp__gte=1970-01-01T00:00:02.000000Z&wait_ms=25000 HTTP/1.1\r\n",
                   "\r\n\r\n");
    json_decref(newest.page);
    json_decref(after.page);
    stop(&fixture);
}

static void command_is_posted(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct request_fixture fixture;
    const struct bash_target target = start(&fixture, replies, 1);
    struct noted_call noted = {
        .call = {.done = on_done}, .is_of_command = true, .rc = -1, .err = ERROR_INIT};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bash_request_start(&target, &noted.call, "{\"command\":\"ls\"}", &err), 0);
    await(&fixture, &noted);
    assert_int_equal(noted.rc, 0);
    assert_request(&fixture, 0, "POST /api/bash/start_bash_command HTTP/1.1\r\n",
                   "\r\n\r\n{\"command\":\"ls\"}");
    stop(&fixture);
}

static void sandbox_without_a_place_is_not_asked(void **state)
{
    static const struct test_reply replies[] = {{.bytes = NULL}};
    struct request_fixture fixture;
    const struct bash_target target = start(&fixture, replies, 1);
    struct async_call call = {.done = on_done};
    struct error err = ERROR_INIT;

    (void)state;
    sandbox_endpoint_done(&fixture.endpoint);
    assert_int_equal(bash_request_newest(&target, &call, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_false(async_call_is_busy(&call));
    assert_true(LIST_EMPTY(&fixture.http.calls));
    async_call_drop(&call);
    stop(&fixture);
}

/* --- answers --- */

static void page_is_an_object_with_items(void **state)
{
    static const struct {
        const char *bytes;
        enum error_code code;
        const char *said;
    } rows[] = {
        {EMPTY_PAGE, ERROR_NONE, ""},
        {HEAD "12\r\n\r\n{\"items\":{}}", ERROR_UNAVAILABLE, "the sandbox's reply is not valid"},
        {HEAD "2\r\n\r\n[]", ERROR_UNAVAILABLE, "the sandbox's reply is not valid"},
        {HEAD "1\r\n\r\n{", ERROR_UNAVAILABLE, "the sandbox's reply is not valid"},
        {"HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{\"items\":[]}", ERROR_UNAVAILABLE,
         "the sandbox replied with status 201"},
        {"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", ERROR_UNAVAILABLE,
         "the sandbox replied with status 500"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct test_reply reply = {.bytes = rows[i].bytes, .ending = TEST_CLOSE};
        struct request_fixture fixture;
        const struct bash_target target = start(&fixture, &reply, 1);
        struct noted_call noted = {.call = {.done = on_done}, .err = ERROR_INIT};
        struct error err = ERROR_INIT;

        assert_int_equal(bash_request_newest(&target, &noted.call, &err), 0);
        await(&fixture, &noted);
        assert_int_equal(noted.rc, rows[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(noted.err.code, rows[i].code);
        assert_string_equal(noted.err.message, rows[i].said);
        assert_int_equal(noted.page != NULL, rows[i].code == ERROR_NONE);
        json_decref(noted.page);
        stop(&fixture);
    }
}

/* An event of 2 MiB may have 12 MiB as JSON. */
static void page_may_be_long(void **state)
{
    static const char head[] = HEAD "9437184\r\n\r\n";
    static const char begin[] = "{\"items\":[";
    CLEANUP(mem_freep) char *whole = mem_alloc(sizeof(head) + LONGER_BYTES);
    const struct test_reply reply = {
        .bytes = whole, .len = sizeof(head) - 1 + LONGER_BYTES, .ending = TEST_CLOSE};
    struct request_fixture fixture;
    struct noted_call noted = {.call = {.done = on_done}, .err = ERROR_INIT};
    struct bash_target target;
    struct error err = ERROR_INIT;

    (void)state;
    memset(whole, ' ', reply.len);
    memcpy(whole, head, sizeof(head) - 1);
    memcpy(whole + sizeof(head) - 1, begin, sizeof(begin) - 1);
    whole[reply.len - 2] = ']';
    whole[reply.len - 1] = '}';
    target = start(&fixture, &reply, 1);
    assert_int_equal(bash_request_newest(&target, &noted.call, &err), 0);
    await(&fixture, &noted);
    assert_string_equal(noted.err.message, "");
    assert_non_null(noted.page);
    json_decref(noted.page);
    stop(&fixture);
}

static void refusal_tells_the_sandboxs_words(void **state)
{
    static const struct {
        const char *bytes;
        enum error_code code;
        const char *said;
    } rows[] = {
        {"HTTP/1.1 400 B\r\nContent-Length: 27\r\n\r\n{\"detail\":\"no such folder\"}",
         ERROR_INVALID, "no such folder"},
        {"HTTP/1.1 422 U\r\nContent-Length: 27\r\n\r\n{\"detail\":\"no such folder\"}",
         ERROR_INVALID, "no such folder"},
        {"HTTP/1.1 503 U\r\nContent-Length: 27\r\n\r\n{\"detail\":\"no such folder\"}",
         ERROR_UNAVAILABLE, "no such folder"},
        {"HTTP/1.1 404 N\r\nContent-Length: 3\r\n\r\nodd", ERROR_UNAVAILABLE,
         "the sandbox refused the command"},
        {"HTTP/1.1 422 U\r\nContent-Length: 2\r\n\r\n{}", ERROR_INVALID,
         "the sandbox refused the command"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct test_reply reply = {.bytes = rows[i].bytes, .ending = TEST_CLOSE};
        struct request_fixture fixture;
        const struct bash_target target = start(&fixture, &reply, 1);
        struct noted_call noted = {
            .call = {.done = on_done}, .is_of_command = true, .err = ERROR_INIT};
        struct error err = ERROR_INIT;

        assert_int_equal(bash_request_start(&target, &noted.call, "{}", &err), 0);
        await(&fixture, &noted);
        assert_int_equal(noted.rc, -1);
        assert_int_equal(noted.err.code, rows[i].code);
        assert_string_equal(noted.err.message, rows[i].said);
        stop(&fixture);
    }
}

static void lost_connection_is_the_failure(void **state)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", .ending = TEST_RESET};

    (void)state;
    for (int is_of_command = 0; is_of_command < 2; is_of_command++) {
        struct request_fixture fixture;
        const struct bash_target target = start(&fixture, &reply, 1);
        struct noted_call noted = {
            .call = {.done = on_done}, .is_of_command = is_of_command, .err = ERROR_INIT};
        struct error err = ERROR_INIT;

        if (is_of_command)
            assert_int_equal(bash_request_start(&target, &noted.call, "{}", &err), 0);
        else
            assert_int_equal(bash_request_newest(&target, &noted.call, &err), 0);
        await(&fixture, &noted);
        assert_int_equal(noted.rc, -1);
        assert_int_equal(noted.err.code, ERROR_UNAVAILABLE);
        assert_null(strstr(noted.err.message, "the sandbox"));
        assert_null(noted.page);
        stop(&fixture);
    }
}

/* --- calls under way --- */

static void dropped_call_is_not_told(void **state)
{
    static const struct test_reply replies[] = {{.bytes = "", .ending = TEST_HOLD}};
    struct request_fixture fixture;
    const struct bash_target target = start(&fixture, replies, 1);
    struct noted_call noted = {.call = {.done = on_done}, .err = ERROR_INIT};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bash_request_newest(&target, &noted.call, &err), 0);
    assert_true(test_server_wait(fixture.server, 1));
    async_http_pump(&fixture.http); /* it is not over */
    assert_true(async_call_is_busy(&noted.call));
    async_call_drop(&noted.call);
    assert_false(async_call_is_busy(&noted.call));
    assert_true(LIST_EMPTY(&fixture.http.calls));
    async_call_drop(&noted.call);
    async_http_pump(&fixture.http);
    assert_int_equal(noted.n_over, 0);
    stop(&fixture);
}

/* The first request hangs; the callback of the second one drops it. */
static void callback_may_drop_another_call(void **state)
{
    static const struct test_reply replies[] = {{.bytes = "", .ending = TEST_HOLD},
                                                {.bytes = EMPTY_PAGE}};
    struct request_fixture fixture;
    const struct bash_target target = start(&fixture, replies, 2);
    struct noted_call hung = {.call = {.done = on_done}, .err = ERROR_INIT};
    struct noted_call noted = {.call = {.done = on_done}, .dropped = &hung.call, .err = ERROR_INIT};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(bash_request_newest(&target, &hung.call, &err), 0);
    assert_true(test_server_wait(fixture.server, 1));
    assert_int_equal(bash_request_newest(&target, &noted.call, &err), 0);
    await(&fixture, &noted);
    assert_int_equal(hung.n_over, 0);
    assert_int_equal(noted.rc, 0);
    json_decref(noted.page);
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_asked_for_by_time),
        cmocka_unit_test(command_is_posted),
        cmocka_unit_test(sandbox_without_a_place_is_not_asked),
        cmocka_unit_test(page_is_an_object_with_items),
        cmocka_unit_test(page_may_be_long),
        cmocka_unit_test(refusal_tells_the_sandboxs_words),
        cmocka_unit_test(lost_connection_is_the_failure),
        cmocka_unit_test(dropped_call_is_not_told),
        cmocka_unit_test(callback_may_drop_another_call),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/bash_request", tests, NULL, NULL);
}
