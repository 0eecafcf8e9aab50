/*
 * The store's guarantees for renewed tokens: one holder at a time, all refresh tokens of a sign-in
 * lead to its newest tokens, and they are stored sealed, for their user.
 */
#include "store/user/mcp_grant_store.h"

#include <pthread.h>
#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "store/store_fixture.h"
#include "store/user/document_store.h"
#include "support/pg.h"
#include "support/sql.h"

static struct mcp_grant *lock(const struct document_scope *scope, const char *token)
{
    struct mcp_grant *grant = NULL;
    struct error err = ERROR_INIT;

    assert_done(mcp_grant_store_lock(scope, token, &grant, &err), &err);
    return grant;
}

static void put(struct mcp_grant *grant, const char *refresh_token)
{
    json_auto_t *state = json_object();
    struct error err = ERROR_INIT;

    json_put_text(state, "token", refresh_token);
    assert_done(mcp_grant_store_put(grant, refresh_token, state, &err), &err);
}

static void renew(const struct document_scope *scope, const char *from, const char *to)
{
    CLEANUP(mcp_grant_freep) struct mcp_grant *grant = lock(scope, from);

    put(grant, to);
}

/* newest: NULL if the token leads to none. */
static void assert_leads_to(const struct document_scope *scope, const char *token,
                            const char *newest)
{
    CLEANUP(mcp_grant_freep) struct mcp_grant *grant = lock(scope, token);

    if (newest == NULL)
        assert_null(mcp_grant_state(grant));
    else
        assert_string_equal(json_text_or(mcp_grant_state(grant), "token", ""), newest);
}

static int64_t count_of(const char *table, const struct uuid *user_id)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "SELECT count(*) FROM %s WHERE user_id = '%s'", table, user_id->text);
    return test_sql_count(sql.text);
}

static void every_refresh_token_leads_to_the_newest(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    assert_leads_to(&test.scope, "first", NULL);
    assert_int_equal(count_of("mcp_grants", &test.scope.user_id), 0);
    renew(&test.scope, "first", "second");
    renew(&test.scope, "second", "third");
    renew(&test.scope, "first", "fourth");
    assert_leads_to(&test.scope, "first", "fourth");
    assert_leads_to(&test.scope, "second", "fourth");
    assert_leads_to(&test.scope, "fourth", "fourth");
    assert_leads_to(&test.scope, "of another sign-in", NULL);
    assert_int_equal(count_of("mcp_grants", &test.scope.user_id), 1);
}

static void a_token_that_stays_leads_to_its_own_grant(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    renew(&test.scope, "constant", "constant");
    renew(&test.scope, "constant", "constant");
    assert_leads_to(&test.scope, "constant", "constant");
    assert_int_equal(count_of("mcp_grants", &test.scope.user_id), 1);
}

static void grant_is_its_users_alone_and_sealed(void **state)
{
    struct test_document_scope test;
    struct test_document_scope other;

    store_open_document_scope(*state, &test);
    store_open_document_scope(*state, &other);
    renew(&test.scope, "shared", "newest-of-one");
    assert_leads_to(&other.scope, "shared", NULL);
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_grants g, mcp_grant_tokens t WHERE"
                                    " concat(g.root_hash, g.sealed, t.token_hash) ~"
                                    " 'shared|newest-of-one'"),
                     0);
}

/* A row that has the sealed tokens of another one, of whichever user. */
static void sealed_tokens_open_in_their_own_row_only(void **state)
{
    struct test_document_scope test;
    struct test_document_scope other;

    store_open_document_scope(*state, &test);
    store_open_document_scope(*state, &other);
    for (int i = 0; i < 2; i++) {
        const struct document_scope *second = i == 0 ? &test.scope : &other.scope;
        CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NULL;
        struct error err = ERROR_INIT;

        test_sql("DELETE FROM mcp_grants");
        renew(&test.scope, "one", "one");
        renew(second, i == 0 ? "two" : "one", "two");
        test_sql("UPDATE mcp_grants g SET sealed = (SELECT o.sealed FROM mcp_grants o WHERE"
                 " (o.user_id, o.root_hash) <> (g.user_id, g.root_hash))");
        assert_int_equal(mcp_grant_store_lock(&test.scope, "one", &grant, &err), -1);
        assert_null(grant);
    }
}

static void what_was_not_put_is_as_it_was(void **state)
{
    struct test_document_scope test;

    store_open_document_scope(*state, &test);
    renew(&test.scope, "a", "b");
    mcp_grant_free(lock(&test.scope, "a"));
    assert_leads_to(&test.scope, "a", "b");
    mcp_grant_free(NULL);
}

/* --- two at once --- */

struct other {
    struct document_scope scope;
    pthread_t thread;
    bool has_found;
};

static void *look(void *context)
{
    struct other *other = context;
    CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NULL;
    struct error err = ERROR_INIT;

    if (mcp_grant_store_lock(&other->scope, "used", &grant, &err) == 0)
        other->has_found = mcp_grant_state(grant) != NULL;
    return NULL;
}

/* Whether or not the grant is known already. */
static void the_second_of_two_sees_what_the_first_put(void **state)
{
    for (int i = 0; i < 2; i++) {
        CLEANUP(mcp_grant_freep) struct mcp_grant *grant = NULL;
        struct test_document_scope test;
        struct other other = {.has_found = false};

        store_open_document_scope(*state, &test);
        if (i == 1)
            renew(&test.scope, "root", "used");
        other.scope = test.scope;
        grant = lock(&test.scope, "used");
        assert_int_equal(pthread_create(&other.thread, NULL, look, &other), 0);
        put(grant, "fresh");
        assert_int_equal(pthread_join(other.thread, NULL), 0);
        assert_true(other.has_found);
    }
}

/* --- limits --- */

static void only_the_newest_are_remembered(void **state)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    struct test_document_scope test;
    const char *user = NULL;

    store_open_document_scope(*state, &test);
    user = test.scope.user_id.text;
    renew(&test.scope, "oldest", "next");
    strbuf_appendf(&sql,
                   "INSERT INTO mcp_grant_tokens (user_id, root_hash, token_hash) SELECT user_id,"
                   " root_hash, 't' || n FROM mcp_grants, generate_series(1, %d) n WHERE user_id ="
                   " '%s'; INSERT INTO mcp_grants (user_id, root_hash, renewed_at) SELECT '%s',"
                   " 'g' || n, now() - interval '1 day' FROM generate_series(1, %d) n",
                   MCP_GRANT_TOKENS_MAX, user, user, MCP_GRANTS_MAX);
    test_sql(sql.text);
    renew(&test.scope, "oldest", "newest");
    assert_int_equal(count_of("mcp_grant_tokens", &test.scope.user_id), MCP_GRANT_TOKENS_MAX);
    assert_int_equal(count_of("mcp_grants", &test.scope.user_id), MCP_GRANTS_MAX);
    assert_leads_to(&test.scope, "oldest", "newest");
    assert_leads_to(&test.scope, "newest", "newest");
    assert_leads_to(&test.scope, "next", NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refresh_token_leads_to_the_newest),
        cmocka_unit_test(a_token_that_stays_leads_to_its_own_grant),
        cmocka_unit_test(grant_is_its_users_alone_and_sealed),
        cmocka_unit_test(sealed_tokens_open_in_their_own_row_only),
        cmocka_unit_test(what_was_not_put_is_as_it_was),
        cmocka_unit_test(the_second_of_two_sees_what_the_first_put),
        cmocka_unit_test(only_the_newest_are_remembered),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, store_set_up, store_tear_down);
}
