#include "runtime/egress/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

static const struct refused_packet packet = {
    .bridge_index = 3, .reason = REFUSED_HOST, .protocol = 6, .port = 80, .address_be = 1};

static void the_same_again_is_one_entry(void **state)
{
    CLEANUP(tally_done) struct tally tally = TALLY_INIT;
    struct refused_packet other = packet;

    (void)state;
    tally_note(&tally, &packet, 1000);
    tally_note(&tally, &packet, 2000);
    tally_note(&tally, &packet, 3000);
    other.port = 81;
    tally_note(&tally, &other, 3000);
    assert_int_equal(tally.n, 2);
    assert_int_equal(tally.items[0].count, 3);
    assert_int_equal(tally.items[0].first_us, 1000);
    assert_int_equal(tally.items[0].last_us, 3000);
    assert_int_equal(tally.items[1].count, 1);
}

static void a_flood_of_different_ones_is_bounded_and_counted(void **state)
{
    CLEANUP(tally_done) struct tally tally = TALLY_INIT;

    (void)state;
    for (uint32_t i = 0; i < 3 * TALLY_MAX; i++) {
        struct refused_packet other = packet;

        other.address_be = i;
        tally_note(&tally, &other, i);
    }
    assert_int_equal(tally.n, TALLY_MAX);
    assert_int_equal(tally.n_lost, 2 * TALLY_MAX);
}

static void what_could_not_be_kept_is_put_back(void **state)
{
    CLEANUP(tally_done) struct tally kept = TALLY_INIT;
    CLEANUP(tally_done) struct tally now = TALLY_INIT;
    struct refused_packet other = packet;

    (void)state;
    other.reason = REFUSED_PRIVATE;
    tally_note(&kept, &packet, 1000);
    tally_note(&kept, &packet, 2000);
    tally_note(&kept, &other, 2000);
    tally_note(&now, &packet, 9000);
    tally_merge(&now, &kept);
    assert_int_equal(now.n, 2);
    assert_int_equal(now.items[0].count, 3);
    assert_int_equal(now.items[0].first_us, 1000);
    assert_int_equal(now.items[0].last_us, 9000);
}

static void reasons_have_words(void **state)
{
    (void)state;
    for (int i = 0; i < REFUSED_N_REASONS; i++) {
        const char *text = refusal_reason_to_string((enum refusal_reason)i);

        assert_int_equal(refusal_reason_from_string(text), i);
    }
    assert_int_equal(refusal_reason_from_string("whatever"), REFUSED_N_REASONS);
    assert_int_equal(refusal_reason_from_string(""), REFUSED_N_REASONS);
}

int test_tally(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again_is_one_entry),
        cmocka_unit_test(a_flood_of_different_ones_is_bounded_and_counted),
        cmocka_unit_test(what_could_not_be_kept_is_put_back),
        cmocka_unit_test(reasons_have_words),
    };

    return cmocka_run_group_tests_name("runtime/tally", tests, NULL, NULL);
}
