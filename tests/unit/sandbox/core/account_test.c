#include "sandbox/core/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/sandbox/sandbox_test.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             ":x:10001:1::/nameless:/bin/sh\n"
                             "short:x\n"
                             "long:x:100011:1::/long:/bin/sh\n"
                             "deft:x:10001:10001:d,,:/home/deft:/bin/bash\n"
                             "twin:x:10001:10001::/home/twin:/bin/bash\n"
                             "last:x:7";

static void account_is_found_by_its_uid(void **state)
{
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;

    (void)state;
    account_find(passwd, 10001, &account);
    assert_string_equal(account.name.text, "deft");
    assert_string_equal(account.home.text, "/home/deft");
    assert_int_equal(strncmp(passwd + account.uid_at, "10001:10001:d", 13), 0);
}

static void line_without_an_end_is_one(void **state)
{
    CLEANUP(account_done) struct account account = ACCOUNT_INIT;

    (void)state;
    account_find(passwd, 7, &account);
    assert_string_equal(account.name.text, "last");
    assert_string_equal(account.home.text, "");
}

static void no_account_is_nothing(void **state)
{
    static const uid_t uids[] = {1, 1000, 10, 1000110};

    (void)state;
    for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++) {
        CLEANUP(account_done) struct account account = ACCOUNT_INIT;

        account_find(passwd, uids[i], &account);
        assert_int_equal(account.name.len, 0);
        assert_int_equal(account.home.len, 0);
    }
}

int account_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(account_is_found_by_its_uid),
        cmocka_unit_test(line_without_an_end_is_one),
        cmocka_unit_test(no_account_is_nothing),
    };

    return cmocka_run_group_tests_name("sandbox/account", tests, NULL, NULL);
}
