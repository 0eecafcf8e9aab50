/*
 * The store's guarantees for sign-ins: a state is valid for one sign-in, once, and for its user
 * only.
 */
#include "store/user/mcp_sign_in_store.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
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
        cmocka_unit_test(what_is_a_day_old_goes_when_something_new_comes),
        cmocka_unit_test(state_is_good_for_a_quarter_of_an_hour),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
