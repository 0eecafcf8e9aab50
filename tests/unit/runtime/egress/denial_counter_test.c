#include "runtime/egress/denial_counter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

static const struct denied_packet packet = {
    .bridge_index = 3, .reason = DENIED_HOST, .protocol = 6, .port = 80, .address_be = 1};

static void the_same_again_is_one_entry(void **state)
{
    CLEANUP(denial_counter_done) struct denial_counter counter = DENIAL_COUNTER_INIT;
    struct denied_packet other = packet;

    (void)state;
    denial_counter_note(&counter, &packet, 1000);
    denial_counter_note(&counter, &packet, 2000);
    denial_counter_note(&counter, &packet, 3000);
    other.port = 81;
    denial_counter_note(&counter, &other, 3000);
    assert_int_equal(counter.n, 2);
    assert_int_equal(counter.items[0].count, 3);
    assert_int_equal(counter.items[0].first_us, 1000);
    assert_int_equal(counter.items[0].last_us, 3000);
    assert_int_equal(counter.items[1].count, 1);
}

static void a_flood_of_different_ones_is_bounded_and_counted(void **state)
{
    CLEANUP(denial_counter_done) struct denial_counter counter = DENIAL_COUNTER_INIT;

    (void)state;
    for (uint32_t i = 0; i < 3 * DENIAL_COUNTER_MAX; i++) {
        struct denied_packet other = packet;

        other.address_be = i;
        denial_counter_note(&counter, &other, i);
    }
    assert_int_equal(counter.n, DENIAL_COUNTER_MAX);
    assert_int_equal(counter.n_lost, 2 * DENIAL_COUNTER_MAX);
}

static void what_could_not_be_kept_is_put_back(void **state)
{
    CLEANUP(denial_counter_done) struct denial_counter kept = DENIAL_COUNTER_INIT;
    CLEANUP(denial_counter_done) struct denial_counter now = DENIAL_COUNTER_INIT;
    struct denied_packet other = packet;

    (void)state;
    other.reason = DENIED_PRIVATE;
    denial_counter_note(&kept, &packet, 1000);
    denial_counter_note(&kept, &packet, 2000);
    denial_counter_note(&kept, &other, 2000);
    denial_counter_note(&now, &packet, 9000);
    denial_counter_merge(&now, &kept);
    assert_int_equal(now.n, 2);
    assert_int_equal(now.items[0].count, 3);
    assert_int_equal(now.items[0].first_us, 1000);
    assert_int_equal(now.items[0].last_us, 9000);
}

static void reasons_have_words(void **state)
{
    (void)state;
    for (int i = 0; i < DENIED_N_REASONS; i++) {
        const char *text = denial_reason_to_string((enum denial_reason)i);

        assert_int_equal(denial_reason_from_string(text), i);
    }
    assert_int_equal(denial_reason_from_string("whatever"), DENIED_N_REASONS);
    assert_int_equal(denial_reason_from_string(""), DENIED_N_REASONS);
}

int test_denial_counter(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again_is_one_entry),
        cmocka_unit_test(a_flood_of_different_ones_is_bounded_and_counted),
        cmocka_unit_test(what_could_not_be_kept_is_put_back),
        cmocka_unit_test(reasons_have_words),
    };

    return cmocka_run_group_tests_name("runtime/denial_counter", tests, NULL, NULL);
}
