/*
 * The deferred start: who may end it, with which keys, and what works before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fixture.h"
#include "store/user/init_store.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define OPERATORS_KEY "the-key-of-the-operator"

/* A request with a header, which is NULL for none. */
static void expect(void *state, const char *header, const char *method, const char *path,
                   const char *body, int status)
{
    const char *params[] = {"DEFT_ORIGIN=agent", header, NULL};
    CLEANUP(test_answer_done) struct test_answer answer =
        test_dispatch_with(state, params, method, path, body);

    if (answer.status != status)
        fail_msg("%s %s %s: %d %s", header != NULL ? header : "", path, body != NULL ? body : "",
                 answer.status, answer.body.text);
}

static void begin(void *state, const char *header, const char *body, int status)
{
    expect(state, header, "POST", "/api/init", body, status);
}

static void set_up(struct fixture *fixture, _Atomic(bool) *has_begun)
{
    test_sql("DELETE FROM server_init");
    fixture->settings.deferred_init = 1;
    secret_set(&fixture->settings.init_key, OPERATORS_KEY);
    fixture->context.has_begun = has_begun;
}

static void tear_down(struct fixture *fixture)
{
    fixture->settings.deferred_init = 0;
    secret_done(&fixture->settings.init_key);
    fixture->context.has_begun = NULL;
}

static void operator_begins_once_with_keys_that_then_open(void **state)
{
    static const char right[] = "HTTP_X_INIT_API_KEY=" OPERATORS_KEY;
    static const char session[] = "HTTP_X_SESSION_API_KEY=the-first-key";
    _Atomic(bool) has_begun = false;

    set_up(*state, &has_begun);
    expect(*state, session, "GET", "/api/conversations/count", NULL, 503);
    begin(*state, NULL, "{\"session_api_keys\":[\"the-first-key\"]}", 401);
    begin(*state, "HTTP_X_INIT_API_KEY=wrong", "{\"session_api_keys\":[\"the-first-key\"]}", 401);
    begin(*state, "HTTP_X_INIT_API_KEY=" OPERATORS_KEY "2",
          "{\"session_api_keys\":[\"the-first-key\"]}", 401);
    /* An empty key would let every client in. */
    begin(*state, right, "{\"session_api_keys\":[\"the-first-key\",\"\"]}", 422);
    begin(*state, right, "{\"session_api_keys\":[\" \"]}", 422);
    begin(*state, right, "{\"env\":{\"A\":\"b\"}}", 422);
    assert_false(atomic_load(&has_begun));
    begin(*state, right, "{\"session_api_keys\":[\"the-first-key\"]}", 200);
    assert_true(atomic_load(&has_begun));
    expect(*state, session, "GET", "/api/conversations/count", NULL, 200);
    expect(*state, "HTTP_X_SESSION_API_KEY=another", "GET", "/api/conversations/count", NULL, 401);
    begin(*state, right, "{\"session_api_keys\":[\"another\"]}", 400);
    tear_down(*state);
}

#define RIGHT "HTTP_X_INIT_API_KEY=" OPERATORS_KEY

/* What the start has stored for the workers. */
static void open_settings(struct fixture *fixture, struct secret *plain)
{
    CLEANUP(mem_freep) char *sealed = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(init_store_load(fixture->context.db, &sealed, &err), 0);
    assert_non_null(sealed);
    assert_int_equal(
        keyring_open(&fixture->context.keyring, INIT_SEAL_CONTEXT, sealed, plain, &err), 0);
}

static void each_member_of_the_start_is_known(void **state)
{
    static const char webhook[] = "{\"base_url\":\"http://hooks.test\",\"headers\":{\"A\":\"b\"}}";
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    _Atomic(bool) has_begun = false;
    char body[1200];
    char hooks[200];

    set_up(*state, &has_begun);
    (void)snprintf(hooks, sizeof(hooks), "[%s]", webhook);
    (void)snprintf(body, sizeof(body),
                   "{\"session_api_keys\":[\"first-of-two\",\"second-of-two\"],"
                   "\"secret_key\":\"k\",\"previous_secret_keys\":[\"o\"],"
                   "\"conversations_path\":\"/c\",\"bash_events_dir\":\"/b\","
                   "\"conversation_worktree_root\":\"/w\",\"webhooks\":%s,"
                   "\"web_url\":\"http://w\",\"allow_cors_origins\":[\"http://o\"],"
                   "\"max_concurrent_runs\":7,\"env\":{},\"telemetry\":{\"a\":1}}",
                   hooks);
    begin(*state, RIGHT, body, 200);
    open_settings(*state, &plain);
    assert_json_at(secret_reveal(&plain), "session_key", "\"first-of-two\"");
    assert_json_at(secret_reveal(&plain), "webhooks", hooks);
    assert_int_equal(test_sql_count("SELECT count(*) FROM users WHERE run_slots = 7"), 1);
    expect(*state, "HTTP_X_SESSION_API_KEY=first-of-two", "GET", "/api/conversations/count", NULL,
           200);
    expect(*state, "HTTP_X_SESSION_API_KEY=second-of-two", "GET", "/api/conversations/count", NULL,
           200);
    tear_down(*state);
}

static void members_of_the_start_may_be_null(void **state)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    _Atomic(bool) has_begun = false;

    set_up(*state, &has_begun);
    begin(*state, RIGHT,
          "{\"session_api_keys\":null,\"secret_key\":null,\"previous_secret_keys\":null,"
          "\"conversations_path\":null,\"bash_events_dir\":null,"
          "\"conversation_worktree_root\":null,\"webhooks\":null,\"web_url\":null,"
          "\"allow_cors_origins\":null,\"max_concurrent_runs\":null,\"env\":null,"
          "\"telemetry\":null}",
          200);
    open_settings(*state, &plain);
    assert_json_at(secret_reveal(&plain), "webhooks", "[]");
    assert_json_at(secret_reveal(&plain), "session_key", NULL);
    tear_down(*state);
}

/* The limits on both sides, and what is said of them. */
static void lists_of_the_start_are_bounded(void **state)
{
#define KEYS                                                                                       \
    "\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\","    \
    "\"15\",\"16\""
#define HOOK "{\"base_url\":\"http://hooks.test\"}"
    static const struct {
        const char *body;
        const char *loc; /* NULL: it starts */
        const char *msg;
    } rows[] = {
        {"{\"session_api_keys\":[" KEYS ",\"17\"]}", "[\"body\",\"session_api_keys\"]",
         "\"Value error, too many keys\""},
        {"{\"session_api_keys\":[" KEYS "]}", NULL, NULL},
        {"{\"webhooks\":[" HOOK "," HOOK "," HOOK "," HOOK "," HOOK "]}", "[\"body\",\"webhooks\"]",
         "\"Value error, too many webhooks\""},
        {"{\"webhooks\":[" HOOK "," HOOK "," HOOK "," HOOK "]}", NULL, NULL},
        {"{\"webhooks\":[" HOOK ",1]}", "[\"body\",\"webhooks\"]", NULL},
        {"{\"webhooks\":[" HOOK ",[]]}", "[\"body\",\"webhooks\"]", NULL},
        {"{\"webhooks\":[" HOOK ",{\"base_url\":\"ftp://hooks.test\"}]}", "[\"body\",\"webhooks\"]",
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *params[] = {"DEFT_ORIGIN=agent", RIGHT, NULL};
        _Atomic(bool) has_begun = false;

        set_up(*state, &has_begun);
        test_sql("DELETE FROM api_keys WHERE name <> 'test'");
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_dispatch_with(*state, params, "POST", "/api/init", rows[i].body);

            if (answer.status != (rows[i].loc == NULL ? 200 : 422))
                fail_msg("%s: %d %s", rows[i].body, answer.status, answer.body.text);
            assert_json_at(answer.body.text, "detail[0].loc", rows[i].loc);
            if (rows[i].msg != NULL) {
                assert_json_at(answer.body.text, "detail[0].type", "\"value_error\"");
                assert_json_at(answer.body.text, "detail[0].msg", rows[i].msg);
            }
        }
        assert_int_equal(atomic_load(&has_begun), rows[i].loc == NULL);
        tear_down(*state);
    }
}

static void server_without_a_deferred_start_has_no_such_route(void **state)
{
    expect(*state, NULL, "GET", "/api/init", NULL, 404);
    begin(*state, "HTTP_X_INIT_API_KEY=", "{}", 404);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operator_begins_once_with_keys_that_then_open),
        cmocka_unit_test(each_member_of_the_start_is_known),
        cmocka_unit_test(members_of_the_start_may_be_null),
        cmocka_unit_test(lists_of_the_start_are_bounded),
        cmocka_unit_test(server_without_a_deferred_start_has_no_such_route),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
