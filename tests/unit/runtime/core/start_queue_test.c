#include "runtime/core/start_queue.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "unit/runtime/runtime_test.h"

static void start_is_queued_once(void **state)
{
    struct start_queue *queue = start_queue_new();
    struct error err = ERROR_INIT;
    char id[RUNTIME_ID_BYTES] = "";

    (void)state;
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_int_equal(start_queue_add(queue, "bbbbbbbbbbbbbbbb", &err), 0);
    assert_true(start_queue_take(queue, id));
    assert_string_equal(id, "aaaaaaaaaaaaaaaa");
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_true(start_queue_take(queue, id));
    assert_string_equal(id, "bbbbbbbbbbbbbbbb");
    start_queue_finish(queue, "aaaaaaaaaaaaaaaa");
    start_queue_finish(queue, "bbbbbbbbbbbbbbbb");
    assert_false(start_queue_has(queue, "aaaaaaaaaaaaaaaa"));
    start_queue_close(queue);
    assert_false(start_queue_take(queue, id));
    start_queue_free(queue);
}

static void queue_has_an_end(void **state)
{
    struct start_queue *queue = start_queue_new();
    struct error err = ERROR_INIT;
    int rc = 0;
    int n = 0;

    (void)state;
    for (int i = 0; rc == 0 && i < 100000; i++) {
        char id[RUNTIME_ID_BYTES] = "";

        for (int digit = 0; digit < 16; digit++)
            id[digit] = (char)('a' + ((i >> digit) & 1));
        rc = start_queue_add(queue, id, &err);
        n += rc == 0;
    }
    assert_int_equal(n, 1024);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    start_queue_free(queue);
}

static void waiting_ends_at_the_deadline(void **state)
{
    struct start_queue *queue = start_queue_new();
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_false(start_queue_wait(queue, "aaaaaaaaaaaaaaaa", clock_monotonic_ms() + 5));
    assert_true(start_queue_wait(queue, "bbbbbbbbbbbbbbbb", clock_monotonic_ms() + 5));
    /* Until the deadline, while one is queued. */
    start_queue_wait_empty(queue, clock_monotonic_ms() + 5);
    start_queue_free(queue);
}

static void *finish_one(void *context)
{
    char id[RUNTIME_ID_BYTES] = "";

    if (start_queue_take(context, id))
        start_queue_finish(context, id);
    return NULL;
}

/* A minute is far more than it takes: the wait ends with the start. */
static void waiting_ends_with_the_start(void **state)
{
    struct start_queue *queue = start_queue_new();
    struct error err = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    pthread_t thread = 0;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, finish_one, queue), 0);
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_true(start_queue_wait(queue, "aaaaaaaaaaaaaaaa", begun_ms + 60000));
    start_queue_wait_empty(queue, begun_ms + 60000);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clock_monotonic_ms() < begun_ms + 60000);
    start_queue_free(queue);
    start_queue_free(NULL);
}

static void *close_queue(void *context)
{
    start_queue_close(context);
    return NULL;
}

static void waiting_ends_when_the_queue_is_closed(void **state)
{
    struct start_queue *queue = start_queue_new();
    struct error err = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    char id[RUNTIME_ID_BYTES] = "";
    pthread_t thread = 0;

    (void)state;
    assert_int_equal(start_queue_add(queue, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, close_queue, queue), 0);
    assert_false(start_queue_wait(queue, "aaaaaaaaaaaaaaaa", begun_ms + 60000));
    start_queue_wait_empty(queue, begun_ms + 60000);
    assert_false(start_queue_take(queue, id));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clock_monotonic_ms() < begun_ms + 60000);
    start_queue_free(queue);
}

int test_start_queue(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_queued_once),
        cmocka_unit_test(queue_has_an_end),
        cmocka_unit_test(waiting_ends_with_the_start),
        cmocka_unit_test(waiting_ends_when_the_queue_is_closed),
        cmocka_unit_test(waiting_ends_at_the_deadline),
    };

    return cmocka_run_group_tests_name("runtime/start_queue", tests, NULL, NULL);
}
