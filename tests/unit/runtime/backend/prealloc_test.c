#include "runtime/backend/prealloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "runtime/backend/subnet.h"
#include "unit/runtime/runtime_test.h"

static void taken_ones_stay_known_until_forgotten(void **state)
{
    struct prealloc *prealloc = prealloc_new();
    char name[PREALLOC_NAME_BYTES] = "";

    (void)state;
    prealloc_add_ready(prealloc, PREALLOC_NETWORK, "n1");
    assert_false(prealloc_take(prealloc, PREALLOC_HOME, name));
    assert_true(prealloc_take(prealloc, PREALLOC_NETWORK, name));
    assert_string_equal(name, "n1");
    assert_false(prealloc_take(prealloc, PREALLOC_NETWORK, name));
    assert_true(prealloc_has(prealloc, PREALLOC_NETWORK, "n1"));
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_NETWORK), 0);
    prealloc_forget(prealloc, PREALLOC_NETWORK, "n1");
    assert_false(prealloc_has(prealloc, PREALLOC_NETWORK, "n1"));
    prealloc_free(prealloc);
}

static void given_back_ones_are_ready_again(void **state)
{
    struct prealloc *prealloc = prealloc_new();
    char name[PREALLOC_NAME_BYTES] = "";

    (void)state;
    prealloc_add_used(prealloc, PREALLOC_HOME, "h1");
    assert_false(prealloc_take(prealloc, PREALLOC_HOME, name));
    prealloc_add_ready(prealloc, PREALLOC_HOME, "h1");
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 1);
    assert_true(prealloc_take(prealloc, PREALLOC_HOME, name));
    prealloc_free(prealloc);
}

static void each_is_known_by_its_kind_and_name(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct prealloc *prealloc = prealloc_new();
    char name[PREALLOC_NAME_BYTES] = "";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        prealloc_add_ready(prealloc, PREALLOC_HOME, names[i]);
        prealloc_add_used(prealloc, PREALLOC_NETWORK, names[i]);
    }
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 3);
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_NETWORK), 0);
    /* Again: it is the same one. */
    prealloc_add_ready(prealloc, PREALLOC_HOME, "a");
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 3);
    prealloc_forget(prealloc, PREALLOC_HOME, "a");
    assert_false(prealloc_has(prealloc, PREALLOC_HOME, "a"));
    assert_true(prealloc_has(prealloc, PREALLOC_NETWORK, "a"));
    assert_true(prealloc_has(prealloc, PREALLOC_HOME, "b"));
    assert_true(prealloc_has(prealloc, PREALLOC_HOME, "c"));
    assert_false(prealloc_has(prealloc, PREALLOC_HOME, "d"));
    prealloc_forget(prealloc, PREALLOC_HOME, "d");
    assert_int_equal(prealloc_n_ready(prealloc, PREALLOC_HOME), 2);
    prealloc_clear(prealloc);
    assert_false(prealloc_has(prealloc, PREALLOC_NETWORK, "a"));
    assert_false(prealloc_take(prealloc, PREALLOC_HOME, name));
    assert_string_equal(name, "");
    prealloc_free(prealloc);
    prealloc_free(NULL);
}

static void subnets_lie_in_their_range(void **state)
{
    static const struct {
        uint32_t n;
        const char *subnet;
    } cases[] = {
        {0, "10.201.0.0/29"},
        {1, "10.201.0.8/29"},
        {8191, "10.201.255.248/29"},
        {8192, "10.201.0.0/29"},
        {UINT32_MAX, "10.201.255.248/29"},
    };
    char single[SUBNET_TEXT_BYTES] = "";
    struct error ignored = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";
        struct error err = ERROR_INIT;

        assert_int_equal(subnet_of_range("10.201.0.0/16", cases[i].n, subnet, &err), 0);
        assert_string_equal(subnet, cases[i].subnet);
    }
    assert_int_equal(subnet_of_range("255.255.255.248/29", 7, single, &ignored), 0);
    assert_string_equal(single, "255.255.255.248/29");
}

static void a_subnet_with_a_route_is_taken(void **state)
{
    static const char routes[] =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0   \n"
        "dsb4520232458e3\tC8ACC90A\t00000000\t0001\t0\t0\t0\tF8FFFFFF\t0\t0\t0   \n"
        "tun0\t0000C90A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0   \n"
        "tun1\t0080C90A\t00000000\t0001\t0\t0\t0\t0080FFFF\t0\t0\t0   \n"
        "lan\t0507C90A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0   \n";

    (void)state;
    assert_true(subnet_is_routed("10.201.172.200/29", routes));
    assert_true(subnet_is_routed("10.201.128.0/29", routes));
    assert_true(subnet_is_routed("10.201.7.0/29", routes));
    /* The default route and the one to the whole range do not count as taken. */
    assert_false(subnet_is_routed("10.201.7.8/29", routes));
    assert_false(subnet_is_routed("nonsense", routes));
    assert_false(subnet_is_routed("10.201.1.0/29", "Iface\neth0\t0001C90A\n"));
    assert_false(subnet_is_routed("10.201.1.0/29", "Iface\neth0\t0001C90A\t0\t1\t0\t0\t0\n"));
    assert_true(
        subnet_is_routed("10.201.1.0/29", "Iface\neth0\t0001C90A\t0\t1\t0\t0\t0\tFFFFFFFF\n"));
    assert_false(subnet_is_routed("10.201.1.0/29", ""));
    assert_false(subnet_is_routed("10.201.1.0/29", "what is this\nno route at all\n"));
}

static void nonsense_is_no_range(void **state)
{
    static const char *const texts[] = {"",     "10.0.0.0",   "10.0.0.0/30",
                                        "a/16", "10.0.0.0/x", "::/64"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        char subnet[SUBNET_TEXT_BYTES] = "";
        struct error err = ERROR_INIT;

        assert_int_equal(subnet_of_range(texts[i], 0, subnet, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int test_prealloc(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_ones_stay_known_until_forgotten),
        cmocka_unit_test(given_back_ones_are_ready_again),
        cmocka_unit_test(each_is_known_by_its_kind_and_name),
        cmocka_unit_test(subnets_lie_in_their_range),
        cmocka_unit_test(a_subnet_with_a_route_is_taken),
        cmocka_unit_test(nonsense_is_no_range),
    };

    return cmocka_run_group_tests_name("runtime/prealloc", tests, NULL, NULL);
}
