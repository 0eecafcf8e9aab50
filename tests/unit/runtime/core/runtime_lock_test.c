#include "runtime/core/runtime_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "unit/runtime/runtime_test.h"

struct race {
    struct runtime_locks *locks;
    int n_inside;
    int n_most;
    int n_rounds;
};

static void *enter_often(void *context)
{
    struct race *race = context;

    for (int i = 0; i < 1000; i++) {
        CLEANUP(runtime_lock_release) struct runtime_lock held =
            runtime_lock_take(race->locks, "cccccccccccccccc");

        assert_string_equal(held.id, "cccccccccccccccc");
        assert_true(runtime_lock_is_held(race->locks, "cccccccccccccccc"));
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
    struct race race = {.locks = runtime_locks_new()};
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_often, &race), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_false(runtime_lock_is_held(race.locks, "cccccccccccccccc"));
    assert_int_equal(race.n_most, 1);
    assert_int_equal(race.n_rounds, 4000);
    runtime_locks_free(race.locks);
}

int test_runtime_lock(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_is_inside),
    };

    return cmocka_run_group_tests_name("runtime/runtime_lock", tests, NULL, NULL);
}
