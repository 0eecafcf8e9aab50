/*
 * The deferred start: who may end it, with which keys, and what works before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/secret.h"
#include "fixture.h"
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

static void server_without_a_deferred_start_has_no_such_route(void **state)
{
    expect(*state, NULL, "GET", "/api/init", NULL, 404);
    begin(*state, "HTTP_X_INIT_API_KEY=", "{}", 404);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operator_begins_once_with_keys_that_then_open),
        cmocka_unit_test(server_without_a_deferred_start_has_no_such_route),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
