/*
 * Which requests must come from the page of the same origin, and which cookie says who is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/pg.h"

#define REFUSED "{\"detail\":\"The request comes from another origin\"}"

static struct test_answer ask(void **state, const char *origin, const char *header,
                              const char *method, const char *path)
{
    const char *params[] = {origin, header, "HTTP_SEC_FETCH_SITE=cross-site", NULL};

    return test_dispatch_with(*state, params, method, path,
                              strcmp(method, "GET") == 0 ? NULL : "{}");
}

#define ASK(name, ...) CLEANUP(test_answer_done) struct test_answer name = ask(state, __VA_ARGS__)

/* A browser adds no key by itself, so that the page that sends one may be any. */
static void keys_may_come_from_any_page(void **state)
{
    const struct fixture *fixture = *state;
    char key[128];

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        ASK(app, "DEFT_ORIGIN=app", key, "POST", "/api/conversations");
        ASK(agent, "DEFT_ORIGIN=agent", key, "POST", "/api/conversations");

        assert_int_equal(app.status, 422);
        assert_int_equal(agent.status, 422);
    }
}

/* Without a caller only the app origin, which has sessions, looks where a request comes from. */
static void public_routes_look_at_the_page_on_the_app_origin(void **state)
{
    ASK(app, "DEFT_ORIGIN=app", "X=", "DELETE", "/api/auth/workspace-session");
    ASK(agent, "DEFT_ORIGIN=agent", "X=", "DELETE", "/api/auth/workspace-session");
    ASK(read, "DEFT_ORIGIN=app", "X=", "GET", "/health");

    assert_answer_json(&app, 403, REFUSED);
    assert_int_equal(agent.status, 204);
    assert_int_equal(read.status, 200);
}

static void scheme_of_the_request_makes_the_cookie_secure(void **state)
{
    static const struct {
        const char *scheme;
        const char *cookie;
    } rows[] = {
        {"REQUEST_SCHEME=https", "Set-Cookie: __Host-deft_session="},
        {"REQUEST_SCHEME=http", "Set-Cookie: deft_session="},
        {"X=", "Set-Cookie: deft_session="},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        const char *params[] = {"DEFT_ORIGIN=app", rows[i].scheme, NULL};
        struct error err = ERROR_INIT;

        assert_int_equal(
            credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
        strbuf_appendf(&body, "{\"token\":\"%s\"}", token.text);
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_dispatch_with(*state, params, "POST", "/api/v1/sign-in", body.text);

            assert_answer_json(&answer, 200, SUCCESS);
            assert_non_null(strstr(answer.head.text, rows[i].cookie));
            assert_int_equal(strstr(answer.head.text, "; Secure\r\n") != NULL, i == 0);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_may_come_from_any_page),
        cmocka_unit_test(public_routes_look_at_the_page_on_the_app_origin),
        cmocka_unit_test(scheme_of_the_request_makes_the_cookie_secure),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
