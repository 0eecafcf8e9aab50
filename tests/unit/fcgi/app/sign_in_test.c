/*
 * Links that sign in: which tokens are looked up, and how many wrong ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "auth/wrong_keys.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"

#define SIGN_IN "/api/v1/sign-in"

static struct test_answer ask(void **state, const char *header, const char *method,
                              const char *path, const char *body)
{
    const char *params[] = {"DEFT_ORIGIN=app", header, "HTTP_SEC_FETCH_SITE=same-origin", NULL};

    return test_dispatch_with(*state, params, method, path, body);
}

#define ASK(name, ...) CLEANUP(test_answer_done) struct test_answer name = ask(state, __VA_ARGS__)

static void token_has_one_to_two_hundred_characters(void **state)
{
    static const struct {
        int n_chars;
        int status;
    } rows[] = {{0, 422}, {1, 401}, {200, 401}, {201, 422}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

        strbuf_append(&body, "{\"token\":\"");
        for (int n = 0; n < rows[i].n_chars; n++)
            strbuf_append_char(&body, 'a');
        strbuf_append(&body, "\"}");
        {
            ASK(answer, "X=", "POST", SIGN_IN, body.text);
            if (answer.status != rows[i].status)
                fail_msg("%d: %d %s", rows[i].n_chars, answer.status, answer.body.text);
            if (rows[i].status == 422)
                assert_json_at(answer.body.text, "detail[0].loc", "[\"body\",\"token\"]");
        }
    }
}

static void body_is_an_object_with_the_right_kinds(void **state)
{
    static const char *const bodies[] = {
        "", "[]", "{", "{\"token\":1}", "{\"token\":\"a\",\"replace\":\"x\"}", "{\"token\":null}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        ASK(answer, "X=", "POST", SIGN_IN, bodies[i]);
        if (answer.status != 422 && answer.status != 400)
            fail_msg("%s: %d %s", bodies[i], answer.status, answer.body.text);
    }
}

/* Also while another user is signed in, when the link's owner is looked up first. */
static void wrong_links_are_counted_and_right_ones_are_not(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf right = STRBUF_INIT;
    char cookie[160] = "X=";
    struct error err = ERROR_INIT;

    fixture->context.wrong_keys = wrong_keys_new();
    assert_int_equal(
        credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
    strbuf_appendf(&right, "{\"token\":\"%s\"}", token.text);
    for (int i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        ASK(wrong, "X=", "POST", SIGN_IN, "{\"token\":\"guess\"}");
        assert_int_equal(wrong.status, i < WRONG_KEYS_PER_MINUTE ? 401 : 429);
    }
    {
        ASK(signed_in, "X=", "POST", SIGN_IN, right.text);
        const char *value = strstr(signed_in.head.text, "Set-Cookie: deft_session=");

        assert_answer_json(&signed_in, 200, SUCCESS);
        assert_non_null(value);
        assert_non_null(strstr(value, "; Max-Age=2592000"));
        value += strlen("Set-Cookie: ");
        (void)snprintf(cookie, sizeof(cookie), "HTTP_COOKIE=%.*s", (int)strcspn(value, ";"), value);
    }
    {
        ASK(wrong, cookie, "POST", SIGN_IN, "{\"token\":\"guess\"}");
        assert_int_equal(wrong.status, 429);
    }
    wrong_keys_free(fixture->context.wrong_keys);
    fixture->context.wrong_keys = NULL;
    {
        ASK(wrong, cookie, "POST", SIGN_IN, "{\"token\":\"guess\"}");
        ASK(me, cookie, "GET", "/api/v1/me", NULL);

        assert_int_equal(wrong.status, 401);
        assert_int_equal(me.status, 200);
    }
}

static void only_a_session_signs_out(void **state)
{
    const struct fixture *fixture = *state;
    char key[128];

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    {
        ASK(nobody, "X=", "POST", "/api/v1/sign-out", NULL);
        ASK(keyed, key, "POST", "/api/v1/sign-out", NULL);
        ASK(unknown, "HTTP_COOKIE=deft_session=guess", "POST", "/api/v1/sign-out", NULL);

        assert_int_equal(nobody.status, 401);
        assert_int_equal(keyed.status, 401);
        assert_int_equal(unknown.status, 401);
        assert_null(strstr(keyed.head.text, "Set-Cookie"));
    }
}

/* The whole entry: what is wrong, where, and the value that was sent, but no token. */
static void each_problem_shows_what_was_sent_unless_it_is_secret(void **state)
{
    static const struct {
        const char *body;
        const char *problem;
    } rows[] = {
        {"", "{\"type\":\"missing\",\"loc\":[\"body\"],\"msg\":\"Field required\",\"input\":null}"},
        {"[1]", "{\"type\":\"model_attributes_type\",\"loc\":[\"body\"],\"input\":[1],\"msg\":"
                "\"Input should"
                " be a valid dictionary or object to extract fields from\"}"},
        {"{\"a\":1}",
         "{\"type\":\"missing\",\"loc\":[\"body\",\"token\"],\"msg\":\"Field required\",\"input\":"
         "\"<redacted>\"}"},
        {"{\"token\":1}",
         "{\"type\":\"string_type\",\"loc\":[\"body\",\"token\"],\"msg\":\"Input should be a valid"
         " string\",\"input\":\"<redacted>\"}"},
        {"{\"token\":\"\"}",
         "{\"type\":\"string_too_short\",\"loc\":[\"body\",\"token\"],\"msg\":"
         "\"String should have at"
         " least 1 character\",\"input\":\"<redacted>\",\"ctx\":{\"min_length\":1}}"},
        {"{\"token\":\"a\",\"replace\":\"x\"}",
         "{\"type\":\"bool_type\",\"loc\":[\"body\",\"replace\"],\"msg\":\"Input should be a valid"
         " boolean\",\"input\":\"x\"}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ASK(answer, "X=", "POST", SIGN_IN, rows[i].body);

        assert_int_equal(answer.status, 422);
        assert_json_at(answer.body.text, "detail[0]", rows[i].problem);
        assert_json_at(answer.body.text, "detail[1]", NULL);
    }
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch(*state, ALICE, "GET", "/api/conversations/xyz", NULL);

        assert_int_equal(answer.status, 422);
        assert_json_at(answer.body.text, "detail[0]",
                       "{\"type\":\"uuid_parsing\",\"loc\":[\"path\",\"conversation_id\"],\"msg\":"
                       "\"Input should be a valid UUID\",\"input\":\"xyz\"}");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_has_one_to_two_hundred_characters),
        cmocka_unit_test(body_is_an_object_with_the_right_kinds),
        cmocka_unit_test(wrong_links_are_counted_and_right_ones_are_not),
        cmocka_unit_test(only_a_session_signs_out),
        cmocka_unit_test(each_problem_shows_what_was_sent_unless_it_is_secret),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
