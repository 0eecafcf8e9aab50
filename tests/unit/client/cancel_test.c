/*
 * The end of HTTP calls by another thread: of one that runs, and of one that is entered later.
 */
#include "client/cancel.h"

#include <pthread.h>
#include <stddef.h>

#include "base/clock.h"
#include "client/http_fixture.h"

enum { LIMIT_MS = 30000 };

/* A call that the server does not answer. */
static struct http_call *begin(const struct fixture *fixture, struct test_server **server_out)
{
    struct http_request request = {.method = NULL};
    struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    *server_out = test_server_start(silent_reply, 1, NULL);
    request = fixture_get(test_server_url(*server_out, "/"));
    request.timeout_ms = LIMIT_MS;
    assert_int_equal(fixture_start(fixture, &request, &call, &err), 0);
    return call;
}

static void assert_cancelled(struct http_call *call, struct test_server *server)
{
    struct error err = ERROR_INIT;

    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    http_call_free(call);
    test_server_stop(server);
}

static void call_that_runs_is_ended(void **state)
{
    struct test_server *server = NULL;
    struct http_call *call = begin(*state, &server);
    struct cancel cancel;
    struct error err = ERROR_INIT;

    cancel_init(&cancel);
    assert_int_equal(cancel_enter(&cancel, call, &err), 0);
    cancel_set(&cancel);
    assert_cancelled(call, server);
    cancel_done(&cancel);
}

static void call_that_is_entered_later_is_ended_too(void **state)
{
    struct test_server *server = NULL;
    struct http_call *call = begin(*state, &server);
    struct cancel cancel;
    struct error err = ERROR_INIT;

    cancel_init(&cancel);
    cancel_set(&cancel);
    assert_int_equal(cancel_enter(&cancel, call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_cancelled(call, server);
    cancel_reset(&cancel);
    assert_int_equal(cancel_enter(&cancel, NULL, &err), 0);
    cancel_done(&cancel);
}

static void call_that_was_left_goes_on(void **state)
{
    struct test_server *server = NULL;
    struct http_call *call = begin(*state, &server);
    struct cancel cancel;
    struct error err = ERROR_INIT;

    cancel_init(&cancel);
    assert_int_equal(cancel_enter(&cancel, call, &err), 0);
    cancel_leave(&cancel);
    cancel_set(&cancel);
    assert_int_equal(http_wait_any(((struct fixture *)*state)->direct, &call, 1, 0), 1);
    http_cancel(call);
    assert_cancelled(call, server);
    cancel_done(&cancel);
}

static void wait_ends_when_it_is_over(void **state)
{
    struct cancel cancel;
    struct error err = ERROR_INIT;
    int64_t from_ms = clock_monotonic_ms();

    (void)state;
    cancel_init(&cancel);
    assert_int_equal(cancel_wait(&cancel, 20, &err), 0);
    assert_true(clock_monotonic_ms() - from_ms >= 20);
    cancel_done(&cancel);
}

static void *set(void *cancel)
{
    cancel_set(cancel);
    return NULL;
}

/* By another thread, before or during the wait. */
static void wait_is_ended(void **state)
{
    struct cancel cancel;
    struct error err = ERROR_INIT;
    pthread_t thread = 0;

    (void)state;
    cancel_init(&cancel);
    assert_int_equal(pthread_create(&thread, NULL, set, &cancel), 0);
    assert_int_equal(cancel_wait(&cancel, 100 * LIMIT_MS, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    cancel_done(&cancel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_that_runs_is_ended),
        cmocka_unit_test(call_that_is_entered_later_is_ended_too),
        cmocka_unit_test(call_that_was_left_goes_on),
        cmocka_unit_test(wait_ends_when_it_is_over),
        cmocka_unit_test(wait_is_ended),
    };

    return cmocka_run_group_tests_name("cancel", tests, fixture_set_up_direct, fixture_tear_down);
}
