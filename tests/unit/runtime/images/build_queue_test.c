/*
 * How many images are built at once, and for whom.
 */
#include "runtime/images/build_queue.h"

#include <pthread.h>

#include "base/clock.h"
#include "unit/runtime/lifecycle/service_fixture.h"

enum { PATIENCE_MS = 60000 };

static void *run(void *context)
{
    build_queue_run(context);
    return NULL;
}

static enum error_code take(struct build_queue *queue, const struct uuid *tenant,
                            struct build_slot *slot)
{
    struct error err = ERROR_INIT;

    return build_queue_take_slot(queue, tenant, slot, &err) < 0 ? err.code : ERROR_NONE;
}

/* One key must not keep the others waiting. */
static void each_key_has_its_share_of_the_slots(void **state)
{
    struct service_fixture *fixture = *state;
    struct build_queue *queue = fixture->service.build_queue;
    const struct uuid one = uuid_random();
    const struct uuid two = uuid_random();
    const struct uuid three = uuid_random();
    struct build_slot slots[5] = {{.build_queue = NULL}};
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    pthread_t thread = 0;

    assert_int_equal(take(queue, &one, &slots[0]), ERROR_UNAVAILABLE);
    assert_int_equal(pthread_create(&thread, NULL, run, &fixture->service), 0);
    while (take(queue, &one, &slots[0]) != ERROR_NONE)
        assert_true(clock_monotonic_ms() < deadline_ms);
    assert_int_equal(take(queue, &one, &slots[1]), ERROR_NONE);
    assert_int_equal(take(queue, &one, &slots[2]), ERROR_RATE_LIMITED);
    assert_int_equal(take(queue, &two, &slots[2]), ERROR_NONE);
    assert_int_equal(take(queue, &two, &slots[3]), ERROR_NONE);
    assert_int_equal(take(queue, &three, &slots[4]), ERROR_RATE_LIMITED);
    build_slot_release(&slots[0]);
    assert_int_equal(take(queue, &two, &slots[4]), ERROR_RATE_LIMITED);
    assert_int_equal(take(queue, &three, &slots[4]), ERROR_NONE);
    for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
        build_slot_release(&slots[i]);
    build_queue_stop(&fixture->service);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(take(queue, &one, &slots[0]), ERROR_UNAVAILABLE);
}

int build_queue_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_key_has_its_share_of_the_slots, service_set_up,
                                        service_tear_down),
    };

    return cmocka_run_group_tests_name("runtime/build_queue", tests, NULL, NULL);
}
