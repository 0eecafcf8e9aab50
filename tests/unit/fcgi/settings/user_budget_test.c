/*
 * What a user may spend, through the dispatcher, and the extension of a day's budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define EXTEND "/api/budget/extend"

static void set_up(struct fixture *fixture, int64_t per_user_cents, int64_t per_day_cents)
{
    test_sql("DELETE FROM budget_extensions; DELETE FROM spending");
    fixture->settings.budget_per_user_cents = per_user_cents;
    fixture->settings.budget_per_day_cents = per_day_cents;
}

/* POST of Alice with that body, or GET without one. */
static void assert_budget(void *state, const char *body, const char *expected)
{
    CLEANUP(test_answer_done) struct test_answer answer = test_dispatch(
        state, ALICE, body != NULL ? "POST" : "GET", body != NULL ? EXTEND : "/api/budget", body);

    assert_answer_json(&answer, 200, expected);
}

static void without_limits_nothing_is_counted(void **state)
{
    set_up(*state, 0, 0);
    test_sql("INSERT INTO spending SELECT id, (now() AT TIME ZONE 'UTC')::date, gen_random_uuid(),"
             " 1000000000 FROM users");
    assert_budget(*state, NULL,
                  "{\"per_user\":{\"limit\":null,\"spent\":null},"
                  "\"per_day\":{\"limit\":null,\"spent\":null,\"extended_by\":0.0}}");
}

static void what_was_spent_stands_beside_its_limit(void **state)
{
    set_up(*state, 20000, 500);
    test_sql("INSERT INTO spending SELECT id, (now() AT TIME ZONE 'UTC')::date - n,"
             " gen_random_uuid(), 1500000000 FROM users, generate_series(0, 1) n");
    assert_budget(*state, NULL,
                  "{\"per_user\":{\"limit\":200.0,\"spent\":3.0},"
                  "\"per_day\":{\"limit\":5.0,\"spent\":1.5,\"extended_by\":0.0}}");
    set_up(*state, 0, 0);
}

static void budget_of_a_day_is_raised_for_today(void **state)
{
    set_up(*state, 0, 500);
    assert_budget(*state, "{\"amount\":2.5}",
                  "{\"per_user\":{\"limit\":null,\"spent\":null},"
                  "\"per_day\":{\"limit\":7.5,\"spent\":0.0,\"extended_by\":2.5}}");
    assert_budget(*state, "{\"amount\":1}",
                  "{\"per_user\":{\"limit\":null,\"spent\":null},"
                  "\"per_day\":{\"limit\":8.5,\"spent\":0.0,\"extended_by\":3.5}}");
    {
        CLEANUP(test_answer_done) struct test_answer others =
            test_dispatch(*state, BOB, "GET", "/api/budget", NULL);

        assert_answer_json(&others, 200,
                           "{\"per_user\":{\"limit\":null,\"spent\":null},"
                           "\"per_day\":{\"limit\":5.0,\"spent\":0.0,\"extended_by\":0.0}}");
    }
    set_up(*state, 0, 0);
}

static void amount_must_be_one(void **state)
{
    static const char *const cases[][2] = {
        {"{\"amount\":0}", "above 0"},       {"{\"amount\":-1}", "above 0"},
        {"{\"amount\":1e300}", "above 0"},   {"{\"amount\":1000000}", "a million dollars"},
        {"{\"amount\":\"much\"}", "amount"}, {"{}", "amount"},
    };

    set_up(*state, 0, 500);
    assert_budget(*state, "{\"amount\":1}",
                  "{\"per_user\":{\"limit\":null,\"spent\":null},"
                  "\"per_day\":{\"limit\":6.0,\"spent\":0.0,\"extended_by\":1.0}}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "POST", EXTEND, cases[i][0]);

        assert_answer(&answer, 422, cases[i][1]);
    }
    assert_budget(*state, NULL,
                  "{\"per_user\":{\"limit\":null,\"spent\":null},"
                  "\"per_day\":{\"limit\":6.0,\"spent\":0.0,\"extended_by\":1.0}}");
    set_up(*state, 0, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_limits_nothing_is_counted),
        cmocka_unit_test(what_was_spent_stands_beside_its_limit),
        cmocka_unit_test(budget_of_a_day_is_raised_for_today),
        cmocka_unit_test(amount_must_be_one),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
