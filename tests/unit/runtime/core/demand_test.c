#include "runtime/core/demand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

#define NOW_MS INT64_C(1000000)

static const struct demand_class usual = {"debian:12", 1 << 30, 2};

static struct demand_class odd_class(size_t n)
{
    struct demand_class class = usual;

    (void)snprintf(class.image, sizeof(class.image), "image-%zu", n);
    return class;
}

static size_t wanted_of(const struct demand *demand, size_t entry, int64_t now_ms)
{
    size_t wanted[DEMAND_CLASSES_MAX];

    demand_plan(demand, now_ms, wanted);
    return wanted[entry];
}

static void usual_class_always_waits(void **state)
{
    struct demand demand;

    (void)state;
    demand_init(&demand, &usual, 2, 5);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 2);
    demand_init(&demand, &usual, 2, 0);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 0);
}

static void recent_starts_ask_for_as_many_up_to_the_most(void **state)
{
    struct demand demand;

    (void)state;
    demand_init(&demand, &usual, 1, 4);
    for (int i = 0; i < 3; i++)
        assert_true(demand_note(&demand, &usual, NOW_MS));
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 3);
    for (int i = 0; i < 200; i++)
        assert_true(demand_note(&demand, &usual, NOW_MS));
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 4);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS + DEMAND_WINDOW_MS), 1);
}

static void other_classes_share_what_is_left(void **state)
{
    struct demand_class odd = odd_class(1);
    struct demand demand;

    (void)state;
    demand_init(&demand, &usual, 1, 3);
    assert_false(demand_note(&demand, &odd, NOW_MS));
    assert_int_equal(wanted_of(&demand, 1, NOW_MS), 1);
    for (int i = 0; i < 5; i++)
        assert_true(demand_note(&demand, &odd, NOW_MS));
    assert_int_equal(wanted_of(&demand, 1, NOW_MS), 2);
    assert_int_equal(wanted_of(&demand, 1, NOW_MS + DEMAND_WINDOW_MS), 0);
}

static void class_least_lately_started_makes_room(void **state)
{
    struct demand_class last = odd_class(DEMAND_CLASSES_MAX);
    struct demand demand;

    (void)state;
    demand_init(&demand, &usual, 1, 100);
    for (size_t i = 1; i < DEMAND_CLASSES_MAX; i++) {
        struct demand_class odd = odd_class(i);

        assert_false(demand_note(&demand, &odd, NOW_MS + (i == 3 ? 0 : 1)));
    }
    assert_false(demand_note(&demand, &last, NOW_MS + 2));
    assert_int_equal(demand.n, DEMAND_CLASSES_MAX);
    assert_true(demand_class_equal(&demand.entries[3].class, &last));
    assert_true(demand_class_equal(&demand.entries[0].class, &usual));
    assert_true(demand_note(&demand, &last, NOW_MS + 3));
}

static void what_is_wanted_waits_beyond_the_most(void **state)
{
    const struct demand_want wants[] = {{.class = odd_class(1), .count = 3},
                                        {.class = usual, .count = 1}};
    struct demand demand;

    (void)state;
    demand_init(&demand, &usual, 2, 2);
    demand_set_wants(&demand, wants, 2);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 1);
    assert_int_equal(wanted_of(&demand, 1, NOW_MS), 3);
    for (int i = 0; i < 4; i++)
        (void)!demand_note(&demand, &usual, NOW_MS);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 1);
    /* Never given away, however many others come. */
    for (size_t i = 2; i < 3 * DEMAND_CLASSES_MAX; i++) {
        const struct demand_class class = odd_class(i);

        (void)!demand_note(&demand, &class, NOW_MS + (int64_t)i);
    }
    assert_int_equal(wanted_of(&demand, 1, NOW_MS), 3);
    demand_set_wants(&demand, &wants[1], 1);
    assert_int_equal(wanted_of(&demand, 1, NOW_MS), 0);
    assert_int_equal(wanted_of(&demand, 0, NOW_MS), 2);
}

int test_demand(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_class_always_waits),
        cmocka_unit_test(recent_starts_ask_for_as_many_up_to_the_most),
        cmocka_unit_test(other_classes_share_what_is_left),
        cmocka_unit_test(class_least_lately_started_makes_room),
        cmocka_unit_test(what_is_wanted_waits_beyond_the_most),
    };

    return cmocka_run_group_tests_name("runtime/demand", tests, NULL, NULL);
}
