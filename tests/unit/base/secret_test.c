#include "base/secret.h"
#include "unit/base/base_test.h"

static void unset_secret_reveals_nothing(void **state)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;

    (void)state;
    assert_false(secret_is_set(&secret));
    assert_string_equal(secret_reveal(&secret), "");
}

static void secret_keeps_its_own_copy(void **state)
{
    CLEANUP(secret_done) struct secret secret = SECRET_INIT;
    char text[] = "hunter2";

    (void)state;
    secret_set(&secret, text);
    text[0] = 'x';
    assert_true(secret_is_set(&secret));
    assert_string_equal(secret_reveal(&secret), "hunter2");
    secret_set_bytes(&secret, "ab", 2);
    assert_string_equal(secret_reveal(&secret), "ab");
    secret_done(&secret);
    assert_false(secret_is_set(&secret));
    secret_done(NULL);
}

int secret_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unset_secret_reveals_nothing),
        cmocka_unit_test(secret_keeps_its_own_copy),
    };

    return cmocka_run_group_tests_name("base/secret", tests, NULL, NULL);
}
