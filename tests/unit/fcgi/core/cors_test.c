/*
 * Requests of pages of other origins: which may read the answers, and what preflights are told.
 */
#include "fcgi/core/cors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "support/pg.h"

#define DISPATCH_WITH(name, params, ...)                                                           \
    CLEANUP(test_answer_done) struct test_answer name =                                            \
        test_dispatch_with(*state, params, __VA_ARGS__)

static void pages_of_this_machine_may_read_answers(void **state)
{
    const char *params[] = {"DEFT_ORIGIN=agent", "HTTP_ORIGIN=http://localhost:3000", NULL};
    const char *foreign[] = {"DEFT_ORIGIN=agent", "HTTP_ORIGIN=http://localhost.evil.test", NULL};
    const char *app[] = {"DEFT_ORIGIN=app", "HTTP_ORIGIN=http://localhost:3001", NULL};
    DISPATCH_WITH(allowed, params, "GET", "/api/conversations/count", NULL);
    DISPATCH_WITH(refused, foreign, "GET", "/health", NULL);
    DISPATCH_WITH(other, app, "GET", "/health", NULL);

    assert_int_equal(allowed.status, 401);
    assert_non_null(
        strstr(allowed.head.text, "Access-Control-Allow-Origin: http://localhost:3000\r\n"));
    assert_null(strstr(refused.head.text, "Access-Control-Allow-Origin"));
    assert_null(strstr(other.head.text, "Access-Control-Allow-Origin"));
}

/* Whether it is granted or not, an answer of the agent origin depends on who asks. */
static void answers_say_what_they_depend_on(void **state)
{
    static const struct {
        const char *params[3];
        bool varies;
        bool is_granted;
    } rows[] = {
        {{"DEFT_ORIGIN=agent", NULL}, true, false},
        {{"DEFT_ORIGIN=agent", "HTTP_ORIGIN=https://evil.test", NULL}, true, false},
        {{"DEFT_ORIGIN=agent", "HTTP_ORIGIN=https://listed.test", NULL}, true, true},
        {{"DEFT_ORIGIN=app", "HTTP_ORIGIN=https://listed.test", NULL}, false, false},
    };
    struct fixture *fixture = *state;

    fixture->settings.cors_origins = "https://listed.test";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH_WITH(answer, rows[i].params, "GET", "/health", NULL);
        const char *head = answer.head.text;

        assert_int_equal(strstr(head, "\r\nVary: Origin\r\n") != NULL, rows[i].varies);
        assert_int_equal(strstr(head, "\r\nAccess-Control-Allow-Origin: https://listed.test\r\n") !=
                             NULL,
                         rows[i].is_granted);
        assert_int_equal(strstr(head, "\r\nAccess-Control-Allow-Credentials: true\r\n") != NULL,
                         rows[i].is_granted);
        assert_int_equal(strstr(head, "\r\nAccess-Control-Expose-Headers: ") != NULL,
                         rows[i].is_granted);
    }
    fixture->settings.cors_origins = "";
}

static void origins_are_those_of_the_list_and_of_this_machine(void **state)
{
    static const char list[] = " https://one.test  https://two.test:8443 ";

    (void)state;
    assert_true(cors_origin_is_allowed("https://one.test", list));
    assert_true(cors_origin_is_allowed("https://two.test:8443", list));
    assert_true(cors_origin_is_allowed("http://localhost:1", ""));
    assert_false(cors_origin_is_allowed("https://two.test", list));
    assert_true(cors_origin_is_allowed("https://one.test:443", list));
    assert_false(cors_origin_is_allowed("http://one.test", list));
    assert_false(cors_origin_is_allowed("https://one.test/", list));
    assert_false(cors_origin_is_allowed("https://one.test.evil", list));
    assert_false(cors_origin_is_allowed("null", list));
    assert_false(cors_origin_is_allowed("", list));
}

static void preflights_are_answered(void **state)
{
    const char *allowed[] = {"DEFT_ORIGIN=agent", "HTTP_ORIGIN=http://127.0.0.1:9",
                             "HTTP_ACCESS_CONTROL_REQUEST_METHOD=POST",
                             "HTTP_ACCESS_CONTROL_REQUEST_HEADERS=x-session-api-key", NULL};
    const char *refused[] = {"DEFT_ORIGIN=agent", "HTTP_ORIGIN=https://evil.test",
                             "HTTP_ACCESS_CONTROL_REQUEST_METHOD=POST", NULL};
    /* Pages of the network must not reach into this machine, whoever they are. */
    const char *inward[] = {"DEFT_ORIGIN=agent", "HTTP_ORIGIN=http://127.0.0.1:9",
                            "HTTP_ACCESS_CONTROL_REQUEST_METHOD=POST",
                            "HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK=true", NULL};
    DISPATCH_WITH(ok, allowed, "OPTIONS", "/api/conversations", NULL);
    DISPATCH_WITH(private, inward, "OPTIONS", "/api/conversations", NULL);
    DISPATCH_WITH(no, refused, "OPTIONS", "/api/conversations", NULL);

    assert_answer(&ok, 200, "OK");
    assert_non_null(strstr(ok.head.text, "Access-Control-Allow-Headers: x-session-api-key\r\n"));
    assert_answer(&no, 400, "Disallowed CORS origin");
    assert_answer(&private, 400, "Disallowed CORS origin");
}

static void other_questions_are_no_preflights(void **state)
{
    static const char origin[] = "HTTP_ORIGIN=http://127.0.0.1:9";
    static const char method[] = "HTTP_ACCESS_CONTROL_REQUEST_METHOD=POST";
    static const struct {
        const char *params[4];
        const char *method;
        bool is_preflight;
    } rows[] = {
        {{"DEFT_ORIGIN=agent", origin, method, NULL}, "OPTIONS", true},
        {{"DEFT_ORIGIN=app", origin, method, NULL}, "OPTIONS", false},
        {{"DEFT_ORIGIN=agent", "X=", method, NULL}, "OPTIONS", false},
        {{"DEFT_ORIGIN=agent", origin, "X=", NULL}, "OPTIONS", false},
        {{"DEFT_ORIGIN=agent", origin, method, NULL}, "DELETE", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        DISPATCH_WITH(answer, rows[i].params, rows[i].method, "/health", NULL);
        const char *head = answer.head.text;

        assert_int_equal(answer.status, rows[i].is_preflight ? 200 : 405);
        assert_int_equal(strstr(head, "\r\nAccess-Control-Max-Age: 600\r\n") != NULL,
                         rows[i].is_preflight);
        assert_int_equal(strstr(head,
                                "\r\nAccess-Control-Allow-Methods: DELETE, GET, HEAD, OPTIONS,"
                                " PATCH, POST, PUT, QUERY\r\n") != NULL,
                         rows[i].is_preflight);
        assert_null(strstr(head, "Access-Control-Allow-Headers"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_this_machine_may_read_answers),
        cmocka_unit_test(answers_say_what_they_depend_on),
        cmocka_unit_test(origins_are_those_of_the_list_and_of_this_machine),
        cmocka_unit_test(preflights_are_answered),
        cmocka_unit_test(other_questions_are_no_preflights),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
