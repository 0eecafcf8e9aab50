#include "runtime/spares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/subnet.h"
#include "unit/runtime/runtime_test.h"

static void taken_ones_stay_known_until_forgotten(void **state)
{
    struct spares *spares = spares_new();
    char name[SPARE_NAME_BYTES] = "";

    (void)state;
    spares_give(spares, SPARE_NETWORK, "n1");
    assert_false(spares_take(spares, SPARE_HOME, name));
    assert_true(spares_take(spares, SPARE_NETWORK, name));
    assert_string_equal(name, "n1");
    assert_false(spares_take(spares, SPARE_NETWORK, name));
    assert_true(spares_knows(spares, SPARE_NETWORK, "n1"));
    assert_int_equal(spares_n_ready(spares, SPARE_NETWORK), 0);
    spares_forget(spares, SPARE_NETWORK, "n1");
    assert_false(spares_knows(spares, SPARE_NETWORK, "n1"));
    spares_free(spares);
}

static void given_back_ones_are_ready_again(void **state)
{
    struct spares *spares = spares_new();
    char name[SPARE_NAME_BYTES] = "";

    (void)state;
    spares_hold(spares, SPARE_HOME, "h1");
    assert_false(spares_take(spares, SPARE_HOME, name));
    spares_give(spares, SPARE_HOME, "h1");
    assert_int_equal(spares_n_ready(spares, SPARE_HOME), 1);
    assert_true(spares_take(spares, SPARE_HOME, name));
    spares_free(spares);
}

static void subnets_lie_in_their_range(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";
        struct error err = ERROR_INIT;

        assert_int_equal(subnet_random("10.201.0.0/16", subnet, &err), 0);
        assert_true(text_starts_with(subnet, "10.201."));
        assert_true(text_ends_with(subnet, "/29"));
    }
}

static void nonsense_is_no_range(void **state)
{
    static const char *const texts[] = {"",     "10.0.0.0",   "10.0.0.0/30",
                                        "a/16", "10.0.0.0/x", "::/64"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";
        struct error err = ERROR_INIT;

        assert_int_equal(subnet_random(texts[i], subnet, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int test_spares(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_ones_stay_known_until_forgotten),
        cmocka_unit_test(given_back_ones_are_ready_again),
        cmocka_unit_test(subnets_lie_in_their_range),
        cmocka_unit_test(nonsense_is_no_range),
    };

    return cmocka_run_group_tests_name("runtime/spares", tests, NULL, NULL);
}
