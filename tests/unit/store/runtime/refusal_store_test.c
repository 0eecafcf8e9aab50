/*
 * The store's guarantees for refusals: they add up, only a bounded number of the latest is kept for
 * each sandbox, and they are deleted with its row.
 */
#include "store/runtime/refusal_store.h"

#include "base/json.h"
#include "store/db/db.h"
#include "store/runtime/runtime_store.h"
#include "store/store_fixture.h"
#include "support/pg.h"

static struct refusal refusal_of(const struct runtime *runtime)
{
    return (struct refusal){.network = runtime->network,
                            .host = "192.168.1.1",
                            .protocol = "tcp",
                            .reason = "private",
                            .port = 22,
                            .count = 2,
                            .first_us = 1000000,
                            .last_us = 2500000};
}

static void add(const struct store_fixture *fixture, const struct refusal *refusals, size_t n)
{
    struct error err = ERROR_INIT;

    assert_done(refusal_store_add(fixture->db, refusals, n, &err), &err);
}

static json_t *list(const struct store_fixture *fixture, const struct runtime *runtime)
{
    json_t *refusals = NULL;
    struct error err = ERROR_INIT;

    assert_done(refusal_store_list(fixture->db, runtime->id, &refusals, &err), &err);
    return refusals;
}

static void the_same_again_adds_up(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    struct refusal refusals[2] = {refusal_of(&runtime), refusal_of(&runtime)};
    json_auto_t *found = NULL;
    const json_t *first = NULL;

    add(fixture, refusals, 1);
    refusals[0].count = 5;
    refusals[0].first_us = 3000000;
    refusals[0].last_us = 4000000;
    refusals[1].protocol = "icmp";
    refusals[1].port = 0;
    add(fixture, refusals, 2);
    found = list(fixture, &runtime);
    assert_int_equal(json_array_size(found), 2);
    first = json_array_get(found, 0);
    assert_string_equal(json_text_or(first, "host", ""), "192.168.1.1");
    assert_string_equal(json_text_or(first, "protocol", ""), "tcp");
    assert_string_equal(json_text_or(first, "reason", ""), "private");
    assert_int_equal(json_int_or(first, "port", 0), 22);
    assert_int_equal(json_int_or(first, "count", 0), 7);
    assert_string_equal(json_text_or(first, "first_at", ""), "1970-01-01T00:00:01.000000Z");
    assert_string_equal(json_text_or(first, "last_at", ""), "1970-01-01T00:00:04.000000Z");
    assert_true(json_is_null(json_object_get(json_array_get(found, 1), "port")));
}

static void each_has_a_bounded_number_the_latest(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    CLEANUP(runtime_done) struct runtime other = store_add_runtime(fixture);
    struct refusal refusals[REFUSALS_MAX + 21];
    json_auto_t *found = NULL;
    json_auto_t *others = NULL;

    for (int i = 0; i < REFUSALS_MAX + 20; i++) {
        refusals[i] = refusal_of(&runtime);
        refusals[i].port = i + 1;
        refusals[i].last_us = 1000000 * (int64_t)(i + 2);
    }
    refusals[REFUSALS_MAX + 20] = refusal_of(&other);
    /* Only the sandboxes with new ones are trimmed. */
    add(fixture, &refusals[REFUSALS_MAX + 20], 1);
    add(fixture, refusals, REFUSALS_MAX + 20);
    found = list(fixture, &runtime);
    others = list(fixture, &other);
    assert_int_equal(json_array_size(found), REFUSALS_MAX);
    assert_int_equal(json_int_or(json_array_get(found, 0), "port", 0), REFUSALS_MAX + 20);
    assert_int_equal(json_int_or(json_array_get(found, REFUSALS_MAX - 1), "port", 0), 21);
    assert_int_equal(json_array_size(others), 1);
}

static void nobodys_are_left_out(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    struct refusal refusal = refusal_of(&runtime);
    json_auto_t *found = NULL;

    refusal.network = "nobody-net-1";
    add(fixture, &refusal, 1);
    found = list(fixture, &runtime);
    assert_int_equal(json_array_size(found), 0);
}

static void they_go_with_the_row(void **state)
{
    const struct store_fixture *fixture = *state;
    CLEANUP(runtime_done) struct runtime runtime = store_add_runtime(fixture);
    struct refusal refusal = refusal_of(&runtime);
    json_auto_t *found = NULL;
    struct error err = ERROR_INIT;

    add(fixture, &refusal, 1);
    assert_done(runtime_store_remove(fixture->db, runtime.id, &err), &err);
    found = list(fixture, &runtime);
    assert_int_equal(json_array_size(found), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again_adds_up),
        cmocka_unit_test(each_has_a_bounded_number_the_latest),
        cmocka_unit_test(nobodys_are_left_out),
        cmocka_unit_test(they_go_with_the_row),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
