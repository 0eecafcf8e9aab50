#include <pthread.h>

#include "base/clock.h"
#include "base/lock.h"
#include "unit/base/base_test.h"

enum { N_THREADS = 4, N_ROUNDS = 20000 };

struct counter {
    struct lock lock;
    struct condition changed;
    int value;
};

static void counter_add(struct counter *counter)
{
    lock_take(&counter->lock);
    counter->value++;
    condition_wake_all(&counter->changed);
    lock_release(&counter->lock);
}

static void *add_many(void *context)
{
    for (int i = 0; i < N_ROUNDS; i++)
        counter_add(context);
    return NULL;
}

static void lock_keeps_others_out(void **state)
{
    struct counter counter = {.value = 0};
    pthread_t threads[N_THREADS];

    (void)state;
    lock_init(&counter.lock);
    condition_init(&counter.changed);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &counter), 0);
    lock_take(&counter.lock);
    while (counter.value < N_THREADS * N_ROUNDS)
        condition_wait(&counter.changed, &counter.lock);
    lock_release(&counter.lock);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(counter.value, N_THREADS * N_ROUNDS);
    condition_done(&counter.changed);
    lock_done(&counter.lock);
}

static void wait_ends_at_its_deadline(void **state)
{
    struct counter counter = {.value = 0};
    int64_t start_ms = clock_monotonic_ms();
    int is_woken = 1;

    (void)state;
    lock_init(&counter.lock);
    condition_init(&counter.changed);
    lock_take(&counter.lock);
    while (is_woken)
        is_woken = condition_wait_until(&counter.changed, &counter.lock, start_ms + 20);
    lock_release(&counter.lock);
    assert_true(clock_monotonic_ms() >= start_ms + 20);
    condition_done(&counter.changed);
    lock_done(&counter.lock);
}

int lock_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_keeps_others_out),
        cmocka_unit_test(wait_ends_at_its_deadline),
    };

    return cmocka_run_group_tests_name("base/lock", tests, NULL, NULL);
}
