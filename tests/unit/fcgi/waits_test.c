#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/uuid.h"
#include "fcgi/waits.h"

enum { N_PLACES = 8, N_SHARE = 6 };

static const struct uuid alice = {"a"};
static const struct uuid bob = {"b"};

static void begin(struct waits *waits, const struct uuid *user, size_t n)
{
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(waits_begin(waits, user, &err), 0);
}

static void assert_refused(struct waits *waits, const struct uuid *user, enum error_code code)
{
    struct error err = ERROR_INIT;

    assert_int_equal(waits_begin(waits, user, &err), -1);
    assert_int_equal(err.code, code);
}

static void one_user_leaves_places_to_others(void **state)
{
    struct waits *waits = waits_new(N_PLACES);

    (void)state;
    begin(waits, &alice, N_SHARE);
    assert_refused(waits, &alice, ERROR_RATE_LIMITED);
    begin(waits, &bob, N_PLACES - N_SHARE);
    assert_refused(waits, &bob, ERROR_UNAVAILABLE);
    waits_free(waits);
}

static void a_place_is_free_again(void **state)
{
    struct waits *waits = waits_new(N_PLACES);

    (void)state;
    begin(waits, &alice, N_SHARE);
    begin(waits, &bob, N_PLACES - N_SHARE);
    waits_end(waits, &alice);
    begin(waits, &bob, 1);
    assert_refused(waits, &alice, ERROR_UNAVAILABLE);
    for (size_t i = 0; i < N_PLACES - N_SHARE + 1; i++)
        waits_end(waits, &bob);
    begin(waits, &alice, 1);
    assert_refused(waits, &alice, ERROR_RATE_LIMITED);
    waits_free(waits);
}

static void each_place_may_be_another_users(void **state)
{
    struct waits *waits = waits_new(N_PLACES);
    struct uuid users[N_PLACES + 1] = {{"0"}};

    (void)state;
    for (size_t i = 0; i <= N_PLACES; i++)
        users[i] = uuid_random();
    for (size_t i = 0; i < N_PLACES; i++)
        begin(waits, &users[i], 1);
    assert_refused(waits, &users[N_PLACES], ERROR_UNAVAILABLE);
    assert_refused(waits, &users[0], ERROR_UNAVAILABLE);
    waits_end(waits, &users[3]);
    begin(waits, &users[N_PLACES], 1);
    waits_free(waits);
}

static void the_only_place_is_for_anybody(void **state)
{
    struct waits *waits = waits_new(1);

    (void)state;
    begin(waits, &alice, 1);
    assert_refused(waits, &alice, ERROR_UNAVAILABLE);
    waits_end(waits, &alice);
    begin(waits, &bob, 1);
    waits_free(waits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_user_leaves_places_to_others),
        cmocka_unit_test(a_place_is_free_again),
        cmocka_unit_test(each_place_may_be_another_users),
        cmocka_unit_test(the_only_place_is_for_anybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
