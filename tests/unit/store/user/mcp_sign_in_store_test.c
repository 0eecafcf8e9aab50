/*
 * The store's guarantees for sign-ins: a state is valid for one sign-in, once, and for its user
 * only.
 */
#include "store/user/mcp_sign_in_store.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "store/store_fixture.h"
#include "store/user/document_store.h"
#include "support/pg.h"
#include "support/sql.h"

static struct uuid add(const struct test_document_scope *test, const char *state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in sign_in = {.id = uuid_random(),
                                                            .user_id = test->scope.user_id,
                                                            .body = json_object(),
                                                            .secrets = json_object()};
    struct error err = ERROR_INIT;

    json_put_text(sign_in.secrets, "verifier", "hush");
    assert_done(mcp_sign_in_store_add(&test->scope, &sign_in, state, &err), &err);
    return sign_in.id;
}

static void state_is_taken_once(void **state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in taken = MCP_SIGN_IN_INIT;
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in again = MCP_SIGN_IN_INIT;
    struct test_document_scope test;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    id = add(&test, "state-once");
    assert_int_equal(mcp_sign_in_store_take(&test.scope, "state-other", &taken, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_done(mcp_sign_in_store_take(&test.scope, "state-once", &taken, &err), &err);
    assert_string_equal(taken.id.text, id.text);
    assert_int_equal(taken.status, SIGN_IN_AUTHORIZING);
    assert_string_equal(json_text_or(taken.secrets, "verifier", ""), "hush");
    assert_int_equal(mcp_sign_in_store_take(&test.scope, "state-once", &again, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void what_it_ended_with_is_its_users_alone(void **state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in taken = MCP_SIGN_IN_INIT;
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in seen = MCP_SIGN_IN_INIT;
    struct test_document_scope test;
    struct document_scope other = {0};
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    id = add(&test, "state-mine");
    assert_done(mcp_sign_in_store_take(&test.scope, "state-mine", &taken, &err), &err);
    taken.status = SIGN_IN_SUCCEEDED;
    json_put_text(taken.body, "tool", "t");
    assert_done(mcp_sign_in_store_finish(&test.scope, &taken, &err), &err);
    other = test.scope;
    other.user_id = test_user(test.scope.db);
    assert_int_equal(mcp_sign_in_store_get(&other, &id, &seen, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_done(mcp_sign_in_store_get(&test.scope, &id, &seen, &err), &err);
    assert_int_equal(seen.status, SIGN_IN_SUCCEEDED);
    assert_string_equal(json_text_or(seen.body, "tool", ""), "t");
}

static void user_keeps_the_newest_few(void **state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in seen = MCP_SIGN_IN_INIT;
    struct test_document_scope test;
    struct uuid first = UUID_INIT;
    struct uuid newest = UUID_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    first = add(&test, "state-0");
    for (int i = 1; i <= 20; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "state-%d", i);
        newest = add(&test, name);
    }
    assert_int_equal(mcp_sign_in_store_get(&test.scope, &first, &seen, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_done(mcp_sign_in_store_get(&test.scope, &newest, &seen, &err), &err);
}

static int64_t count_of(const struct uuid *user_id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM mcp_sign_ins WHERE user_id = '%s'", user_id->text);
    return test_sql_count(sql.text);
}

static void user_keeps_twenty_and_others_keep_theirs(void **state)
{
    struct test_document_scope test;
    struct test_document_scope other;

    store_open_document_scope(*state, &test);
    store_open_document_scope(*state, &other);
    for (int i = 0; i < 23; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "state-mine-%d", i);
        (void)add(&test, name);
        (void)snprintf(name, sizeof(name), "state-other-%d", i);
        if (i < 2)
            (void)add(&other, name);
    }
    assert_int_equal(count_of(&test.scope.user_id), 20);
    assert_int_equal(count_of(&other.scope.user_id), 2);
}

static struct mcp_sign_in get(const struct test_document_scope *test, const struct uuid *id)
{
    struct mcp_sign_in found = MCP_SIGN_IN_INIT;
    struct error err = ERROR_INIT;

    assert_done(mcp_sign_in_store_get(&test->scope, id, &found, &err), &err);
    assert_string_equal(found.id.text, id->text);
    assert_string_equal(found.user_id.text, test->scope.user_id.text);
    return found;
}

static void assert_state(const struct test_document_scope *test, const struct uuid *id,
                         enum sign_in_state state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in found = get(test, id);

    assert_int_equal(found.status, state);
}

static void finish(const struct test_document_scope *test, const struct uuid *id,
                   enum sign_in_state state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in ended = get(test, id);
    struct error err = ERROR_INIT;

    ended.status = state;
    json_put_text(ended.secrets, "token", "found");
    assert_done(mcp_sign_in_store_finish(&test->scope, &ended, &err), &err);
}

/* An outcome is stored once, of a sign-in that is under way. */
static void outcome_is_of_a_sign_in_under_way(void **state)
{
    struct test_document_scope test;
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in taken = MCP_SIGN_IN_INIT;
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in ended = MCP_SIGN_IN_INIT;
    struct uuid id = UUID_INIT;
    struct uuid other = UUID_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    id = add(&test, "state-outcome");
    other = add(&test, "state-beside");
    assert_state(&test, &id, SIGN_IN_PENDING);
    finish(&test, &id, SIGN_IN_SUCCEEDED);
    assert_state(&test, &id, SIGN_IN_PENDING);
    assert_done(mcp_sign_in_store_take(&test.scope, "state-outcome", &taken, &err), &err);
    assert_state(&test, &id, SIGN_IN_AUTHORIZING);
    finish(&test, &id, SIGN_IN_FAILED);
    assert_state(&test, &id, SIGN_IN_FAILED);
    ended = get(&test, &id);
    assert_string_equal(json_text_or(ended.secrets, "token", ""), "found");
    finish(&test, &id, SIGN_IN_SUCCEEDED);
    assert_state(&test, &id, SIGN_IN_FAILED);
    assert_state(&test, &other, SIGN_IN_PENDING);
}

static int64_t unchanged_ms(const struct test_document_scope *test, const struct uuid *id)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in found = get(test, id);

    return found.unchanged_ms;
}

static void each_change_starts_its_time_anew(void **state)
{
    enum { HOUR_MS = 3600000 };
    struct test_document_scope test;
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in taken = MCP_SIGN_IN_INIT;
    struct uuid id = UUID_INIT;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    id = add(&test, "state-time");
    test_sql("UPDATE mcp_sign_ins SET changed_at = now() - interval '1 hour'");
    assert_in_range(unchanged_ms(&test, &id), HOUR_MS, 2 * HOUR_MS);
    assert_done(mcp_sign_in_store_take(&test.scope, "state-time", &taken, &err), &err);
    assert_in_range(unchanged_ms(&test, &id), 0, HOUR_MS / 2);
    test_sql("UPDATE mcp_sign_ins SET changed_at = now() - interval '1 hour'");
    finish(&test, &id, SIGN_IN_SUCCEEDED);
    assert_in_range(unchanged_ms(&test, &id), 0, HOUR_MS / 2);
}

static void each_state_has_its_name(void **state)
{
    static const char *const names[SIGN_IN_N_STATES] = {"pending", "authorizing", "succeeded",
                                                        "failed"};

    (void)state;
    for (int i = 0; i < SIGN_IN_N_STATES; i++)
        assert_string_equal(sign_in_state_to_string((enum sign_in_state)i), names[i]);
}

static void sign_in_is_empty_after_it_is_freed(void **state)
{
    struct mcp_sign_in sign_in = {
        .status = SIGN_IN_FAILED, .body = json_object(), .secrets = json_object()};

    (void)state;
    mcp_sign_in_done(&sign_in);
    assert_null(sign_in.body);
    assert_null(sign_in.secrets);
    assert_int_equal(sign_in.status, SIGN_IN_PENDING);
    mcp_sign_in_done(NULL);
}

static void what_is_a_day_old_goes_when_something_new_comes(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    (void)add(&test, "state-old");
    test_sql("UPDATE mcp_sign_ins SET created_at = now() - interval '25 hours'");
    test.scope.user_id = test_user(test.scope.db);
    (void)add(&test, "state-new");
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_sign_ins"), 1);
}

static void what_is_a_day_old_goes_a_hundred_at_a_time(void **state)
{
    struct test_document_scope test;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    store_open_document_scope(*state, &test);
    test_sql("DELETE FROM mcp_sign_ins");
    strbuf_appendf(
        &sql,
        "INSERT INTO mcp_sign_ins (id, user_id, state_hash, status, body, sealed, created_at)"
        " SELECT gen_random_uuid(), '%s', 'old ' || n, 'pending', '{}', '',"
        " now() - interval '1 day' - n * interval '1 minute'"
        " FROM generate_series(1, 150) n",
        test.scope.user_id.text);
    test_sql(sql.text);
    test.scope.user_id = test_user(test.scope.db);
    (void)add(&test, "state-hundred");
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_sign_ins"), 51);
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_sign_ins"
                                    " WHERE state_hash IN ('old 51', 'old 50')"),
                     1);
}

static void sign_in_does_not_wait_for_rows_that_another_removes(void **state)
{
    struct test_document_scope test;
    struct test_tx *tx = NULL;

    store_open_document_scope(*state, &test);
    (void)add(&test, "state-removed");
    test_sql("UPDATE mcp_sign_ins SET created_at = now() - interval '25 hours'");
    test.scope.user_id = test_user(test.scope.db);
    tx = test_tx_begin();
    test_tx_sql(tx, "DELETE FROM mcp_sign_ins");
    (void)add(&test, "state-beside-removed");
    test_tx_commit(tx);
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_sign_ins"), 1);
}

static void state_is_good_for_a_quarter_of_an_hour(void **state)
{
    CLEANUP(mcp_sign_in_done) struct mcp_sign_in taken = MCP_SIGN_IN_INIT;
    struct test_document_scope test;
    struct error err = ERROR_INIT;

    store_open_document_scope(*state, &test);
    (void)add(&test, "state-late");
    test_sql("UPDATE mcp_sign_ins SET created_at = now() - interval '16 minutes'");
    assert_int_equal(mcp_sign_in_store_take(&test.scope, "state-late", &taken, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    test_sql("UPDATE mcp_sign_ins SET created_at = now() - interval '14 minutes'");
    assert_done(mcp_sign_in_store_take(&test.scope, "state-late", &taken, &err), &err);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_taken_once),
        cmocka_unit_test(what_it_ended_with_is_its_users_alone),
        cmocka_unit_test(user_keeps_the_newest_few),
        cmocka_unit_test(user_keeps_twenty_and_others_keep_theirs),
        cmocka_unit_test(outcome_is_of_a_sign_in_under_way),
        cmocka_unit_test(each_change_starts_its_time_anew),
        cmocka_unit_test(each_state_has_its_name),
        cmocka_unit_test(sign_in_is_empty_after_it_is_freed),
        cmocka_unit_test(what_is_a_day_old_goes_when_something_new_comes),
        cmocka_unit_test(what_is_a_day_old_goes_a_hundred_at_a_time),
        cmocka_unit_test(sign_in_does_not_wait_for_rows_that_another_removes),
        cmocka_unit_test(state_is_good_for_a_quarter_of_an_hour),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
