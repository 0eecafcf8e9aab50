#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/uuid.h"
#include "fcgi/core/wait_slots.h"

enum { N_PLACES = 8, N_SHARE = 6 };

static const struct uuid alice = {"a"};
static const struct uuid bob = {"b"};

static void begin(struct wait_slots *slots, const struct uuid *user, size_t n)
{
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(wait_slot_take(slots, user, &err), 0);
}

static void assert_refused(struct wait_slots *slots, const struct uuid *user, enum error_code code)
{
    struct error err = ERROR_INIT;

    assert_int_equal(wait_slot_take(slots, user, &err), -1);
    assert_int_equal(err.code, code);
}

static void one_user_leaves_places_to_others(void **state)
{
    struct wait_slots *slots = wait_slots_new(N_PLACES);

    (void)state;
    begin(slots, &alice, N_SHARE);
    assert_refused(slots, &alice, ERROR_RATE_LIMITED);
    begin(slots, &bob, N_PLACES - N_SHARE);
    assert_refused(slots, &bob, ERROR_UNAVAILABLE);
    wait_slots_free(slots);
}

static void a_place_is_free_again(void **state)
{
    struct wait_slots *slots = wait_slots_new(N_PLACES);

    (void)state;
    begin(slots, &alice, N_SHARE);
    begin(slots, &bob, N_PLACES - N_SHARE);
    wait_slot_return(slots, &alice);
    begin(slots, &bob, 1);
    assert_refused(slots, &alice, ERROR_UNAVAILABLE);
    for (size_t i = 0; i < N_PLACES - N_SHARE + 1; i++)
        wait_slot_return(slots, &bob);
    begin(slots, &alice, 1);
    assert_refused(slots, &alice, ERROR_RATE_LIMITED);
    wait_slots_free(slots);
}

static void each_place_may_be_another_users(void **state)
{
    struct wait_slots *slots = wait_slots_new(N_PLACES);
    struct uuid users[N_PLACES + 1] = {{"0"}};

    (void)state;
    for (size_t i = 0; i <= N_PLACES; i++)
        users[i] = uuid_random();
    for (size_t i = 0; i < N_PLACES; i++)
        begin(slots, &users[i], 1);
    assert_refused(slots, &users[N_PLACES], ERROR_UNAVAILABLE);
    assert_refused(slots, &users[0], ERROR_UNAVAILABLE);
    wait_slot_return(slots, &users[3]);
    begin(slots, &users[N_PLACES], 1);
    wait_slots_free(slots);
}

static void the_only_place_is_for_anybody(void **state)
{
    struct wait_slots *slots = wait_slots_new(1);

    (void)state;
    begin(slots, &alice, 1);
    assert_refused(slots, &alice, ERROR_UNAVAILABLE);
    wait_slot_return(slots, &alice);
    begin(slots, &bob, 1);
    wait_slots_free(slots);
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
