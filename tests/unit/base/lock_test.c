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

/* Waits until the value has changed; whether each wait was ended by a wake. */
struct waiter {
    struct counter *counter;
    bool is_woken;
};

static void *wait_for_change(void *context)
{
    struct waiter *waiter = context;
    int64_t deadline_ms = clock_monotonic_ms() + 60000;
    bool is_woken = true;

    lock_take(&waiter->counter->lock);
    while (waiter->counter->value == 0 && is_woken)
        is_woken =
            condition_wait_until(&waiter->counter->changed, &waiter->counter->lock, deadline_ms);
    lock_release(&waiter->counter->lock);
    waiter->is_woken = is_woken;
    return NULL;
}

static void one_waiting_thread_can_be_woken(void **state)
{
    struct counter counter = {.value = 0};
    struct waiter waiter = {.counter = &counter};
    int64_t start_ms = clock_monotonic_ms();
    pthread_t thread = 0;

    (void)state;
    lock_init(&counter.lock);
    condition_init(&counter.changed);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_change, &waiter), 0);
    lock_take(&counter.lock);
    counter.value = 1;
    condition_wake_one(&counter.changed);
    lock_release(&counter.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(waiter.is_woken);
    assert_true(clock_monotonic_ms() - start_ms < 60000);
    condition_done(&counter.changed);
    lock_done(&counter.lock);
}

int lock_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_keeps_others_out),
        cmocka_unit_test(wait_ends_at_its_deadline),
        cmocka_unit_test(one_waiting_thread_can_be_woken),
    };

    return cmocka_run_group_tests_name("base/lock", tests, NULL, NULL);
}
