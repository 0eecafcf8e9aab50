#include "runtime/core/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/error.h"
#include "unit/runtime/runtime_test.h"

static void start_is_queued_once(void **state)
{
    struct gate *gate = gate_new();
    struct error err = ERROR_INIT;
    char id[RUNTIME_ID_BYTES] = "";

    (void)state;
    assert_int_equal(gate_queue_start(gate, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_int_equal(gate_queue_start(gate, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_int_equal(gate_queue_start(gate, "bbbbbbbbbbbbbbbb", &err), 0);
    assert_true(gate_next_start(gate, id));
    assert_string_equal(id, "aaaaaaaaaaaaaaaa");
    assert_int_equal(gate_queue_start(gate, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_true(gate_next_start(gate, id));
    assert_string_equal(id, "bbbbbbbbbbbbbbbb");
    gate_start_done(gate, "aaaaaaaaaaaaaaaa");
    gate_start_done(gate, "bbbbbbbbbbbbbbbb");
    assert_false(gate_is_busy(gate, "aaaaaaaaaaaaaaaa"));
    gate_close(gate);
    assert_false(gate_next_start(gate, id));
    gate_free(gate);
}

static void queue_has_an_end(void **state)
{
    struct gate *gate = gate_new();
    struct error err = ERROR_INIT;
    int rc = 0;

    (void)state;
    for (int i = 0; rc == 0 && i < 100000; i++) {
        char id[RUNTIME_ID_BYTES] = "";

        for (int digit = 0; digit < 16; digit++)
            id[digit] = (char)('a' + ((i >> digit) & 1));
        rc = gate_queue_start(gate, id, &err);
    }
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    gate_free(gate);
}

static void waiting_ends_at_the_deadline(void **state)
{
    struct gate *gate = gate_new();
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(gate_queue_start(gate, "aaaaaaaaaaaaaaaa", &err), 0);
    assert_false(gate_wait_start(gate, "aaaaaaaaaaaaaaaa", clock_monotonic_ms() + 5));
    assert_true(gate_wait_start(gate, "bbbbbbbbbbbbbbbb", clock_monotonic_ms() + 5));
    /* Until the deadline, while one is queued. */
    gate_wait_calm(gate, clock_monotonic_ms() + 5);
    gate_free(gate);
}

struct race {
    struct gate *gate;
    int n_inside;
    int n_most;
    int n_rounds;
};

static void *enter_often(void *context)
{
    struct race *race = context;

    for (int i = 0; i < 1000; i++) {
        CLEANUP(gate_leave) struct gate_pass pass = gate_enter(race->gate, "cccccccccccccccc");

        assert_string_equal(pass.id, "cccccccccccccccc");
        race->n_inside++;
        if (race->n_inside > race->n_most)
            race->n_most = race->n_inside;
        race->n_rounds++;
        race->n_inside--;
    }
    return NULL;
}

static void one_at_a_time_is_inside(void **state)
{
    struct race race = {.gate = gate_new()};
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_often, &race), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(race.n_most, 1);
    assert_int_equal(race.n_rounds, 4000);
    gate_free(race.gate);
}

int test_gate(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_queued_once),
        cmocka_unit_test(queue_has_an_end),
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(one_at_a_time_is_inside),
    };

    return cmocka_run_group_tests_name("runtime/gate", tests, NULL, NULL);
}
