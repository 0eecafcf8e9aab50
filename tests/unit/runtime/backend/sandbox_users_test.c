#include "runtime/backend/sandbox_users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

static void home_names_its_users(void **state)
{
    struct sandbox_users users = sandbox_users_of_home("0123456789-20004");

    (void)state;
    assert_int_equal(users.command, 20004);
    assert_int_equal(users.server, 20005);
    assert_int_equal(users.group, 10001);
}

static void other_homes_share_the_users_of_before(void **state)
{
    static const char *const names[] = {"",
                                        "0123456789",
                                        "0123420004",
                                        "0123456789-",
                                        "0123456789-2000",
                                        "0123456789-200040",
                                        "0123456789-20004x",
                                        "0123456789-20005",
                                        "0123456789-19998",
                                        "0123456789-65534",
                                        "0123456789-65536",
                                        "0123456789-00000",
                                        "0123456789- 2000",
                                        "0123456789-+2000",
                                        "20004-0123456789"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(sandbox_users_of_home(names[i]).command, 10001);
        assert_int_equal(sandbox_users_of_home(names[i]).server, 10002);
    }
}

static void no_two_homes_get_a_pair_until_all_are_taken(void **state)
{
    struct users_in_use used = {.bits = {0}};
    struct users_in_use others = {.bits = {0}};
    unsigned command = 0;
    char name[40] = "";

    (void)state;
    users_in_use_add(&others, "deft-ws-0123456789-20000");
    users_in_use_add(&others, "another-j-0123456789-65532");
    users_in_use_add(&others, "no-number");
    for (int i = 0; i < USERS_PAIRS - 2; i++) {
        assert_true(users_in_use_take(&used, &others, UINT32_MAX, &command));
        (void)snprintf(name, sizeof(name), "x-%u", command);
        assert_int_equal(sandbox_users_of_home(name).command, command);
        assert_int_not_equal(command, 20000);
        assert_int_not_equal(command, 65532);
        assert_true(command + 1 < 65534);
    }
    assert_false(users_in_use_take(&used, &others, 7, &command));
    users_in_use_remove(&used, "deft-j-0123456789-30000");
    assert_true(users_in_use_take(&used, &others, 7, &command));
    assert_int_equal(command, 30000);
    /* Its neighbours were not given back with it. */
    assert_false(users_in_use_take(&used, &others, 7, &command));
}

static void search_begins_where_the_caller_says(void **state)
{
    struct users_in_use used = {.bits = {0}};
    struct users_in_use others = {.bits = {0}};
    unsigned command = 0;

    (void)state;
    assert_true(users_in_use_take(&used, &others, 5, &command));
    assert_int_equal(command, 20010);
    assert_true(users_in_use_take(&used, &others, 5, &command));
    assert_int_equal(command, 20012);
    users_in_use_add(&others, "a-20014");
    assert_true(users_in_use_take(&used, &others, 5, &command));
    assert_int_equal(command, 20016);
    assert_true(users_in_use_take(&used, &others, USERS_PAIRS - 1, &command));
    assert_int_equal(command, 65532);
    assert_true(users_in_use_take(&used, &others, USERS_PAIRS - 1, &command));
    assert_int_equal(command, 20000);
}

int test_sandbox_users(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(home_names_its_users),
        cmocka_unit_test(other_homes_share_the_users_of_before),
        cmocka_unit_test(no_two_homes_get_a_pair_until_all_are_taken),
        cmocka_unit_test(search_begins_where_the_caller_says),
    };

    return cmocka_run_group_tests_name("runtime/sandbox_users", tests, NULL, NULL);
}
