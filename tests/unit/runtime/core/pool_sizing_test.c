#include "runtime/core/pool_sizing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

#define NOW_MS INT64_C(1000000)

static const struct pool_class usual = {"debian:12", 1 << 30, 2};

static struct pool_class odd_class(size_t n)
{
    struct pool_class class = usual;

    (void)snprintf(class.image, sizeof(class.image), "image-%zu", n);
    return class;
}

static size_t wanted_of(const struct pool_sizing *sizing, size_t entry, int64_t now_ms)
{
    size_t wanted[POOL_CLASSES_MAX];

    pool_sizing_plan(sizing, now_ms, wanted);
    return wanted[entry];
}

static void usual_class_always_waits(void **state)
{
    struct pool_sizing sizing;

    (void)state;
    pool_sizing_init(&sizing, &usual, 2, 5);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 2);
    pool_sizing_init(&sizing, &usual, 2, 0);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 0);
}

static void recent_starts_ask_for_as_many_up_to_the_most(void **state)
{
    struct pool_sizing sizing;

    (void)state;
    pool_sizing_init(&sizing, &usual, 1, 4);
    for (int i = 0; i < 3; i++)
        assert_true(pool_sizing_record_start(&sizing, &usual, NOW_MS));
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 3);
    for (int i = 0; i < 200; i++)
        assert_true(pool_sizing_record_start(&sizing, &usual, NOW_MS));
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 4);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS + POOL_WINDOW_MS), 1);
}

static void other_classes_share_what_is_left(void **state)
{
    struct pool_class odd = odd_class(1);
    struct pool_sizing sizing;

    (void)state;
    pool_sizing_init(&sizing, &usual, 1, 3);
    assert_false(pool_sizing_record_start(&sizing, &odd, NOW_MS));
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS), 1);
    for (int i = 0; i < 5; i++)
        assert_true(pool_sizing_record_start(&sizing, &odd, NOW_MS));
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS), 2);
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS + POOL_WINDOW_MS), 0);
}

static void class_least_lately_started_makes_room(void **state)
{
    struct pool_class last = odd_class(POOL_CLASSES_MAX);
    struct pool_sizing sizing;

    (void)state;
    pool_sizing_init(&sizing, &usual, 1, 100);
    for (size_t i = 1; i < POOL_CLASSES_MAX; i++) {
        struct pool_class odd = odd_class(i);

        assert_false(pool_sizing_record_start(&sizing, &odd, NOW_MS + (i == 3 ? 0 : 1)));
    }
    assert_false(pool_sizing_record_start(&sizing, &last, NOW_MS + 2));
    assert_int_equal(sizing.n, POOL_CLASSES_MAX);
    assert_true(pool_class_equal(&sizing.entries[3].class, &last));
    assert_true(pool_class_equal(&sizing.entries[0].class, &usual));
    assert_true(pool_sizing_record_start(&sizing, &last, NOW_MS + 3));
}

static void what_is_wanted_waits_beyond_the_most(void **state)
{
    const struct pool_minimum wants[] = {{.class = odd_class(1), .count = 3},
                                         {.class = usual, .count = 1}};
    struct pool_sizing sizing;

    (void)state;
    pool_sizing_init(&sizing, &usual, 2, 2);
    pool_sizing_set_minimums(&sizing, wants, 2);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 1);
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS), 3);
    for (int i = 0; i < 4; i++)
        (void)!pool_sizing_record_start(&sizing, &usual, NOW_MS);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 1);
    /* Never given away, however many others come. */
    for (size_t i = 2; i < 3 * POOL_CLASSES_MAX; i++) {
        const struct pool_class class = odd_class(i);

        (void)!pool_sizing_record_start(&sizing, &class, NOW_MS + (int64_t)i);
    }
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS), 3);
    pool_sizing_set_minimums(&sizing, &wants[1], 1);
    assert_int_equal(wanted_of(&sizing, 1, NOW_MS), 0);
    assert_int_equal(wanted_of(&sizing, 0, NOW_MS), 2);
}

int test_pool_sizing(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_class_always_waits),
        cmocka_unit_test(recent_starts_ask_for_as_many_up_to_the_most),
        cmocka_unit_test(other_classes_share_what_is_left),
        cmocka_unit_test(class_least_lately_started_makes_room),
        cmocka_unit_test(what_is_wanted_waits_beyond_the_most),
    };

    return cmocka_run_group_tests_name("runtime/pool_sizing", tests, NULL, NULL);
}
