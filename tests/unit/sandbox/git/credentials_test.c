#include "sandbox/git/credentials.h"

#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

static struct credentials *with_password(const char *password, int64_t lifetime_ms)
{
    struct credentials *credentials = credentials_new();
    struct error err = ERROR_INIT;

    assert_int_equal(
        credentials_keep(credentials,
                         &(struct credential_order){"https://a", "oauth2", password, lifetime_ms},
                         &err),
        0);
    return credentials;
}

static void assert_masked(const struct credentials *credentials, const char *text,
                          const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    credentials_mask_append(credentials, text, strlen(text), &out);
    assert_string_equal(out.text, expected);
}

static void each_form_of_a_password_is_hidden_also_when_it_was_replaced(void **state)
{
    struct credentials *credentials = with_password("s3cr&t", 1000);
    struct error err = ERROR_INIT;
    json_auto_t *json =
        json_build(&err, "{s:[s,{s:s}],s:i}", "a", "x s3cr&t", "b", "b2F1dGgyOnMzY3ImdA==", "n", 1);
    json_auto_t *expected = json_build(&err, "{s:[s,{s:s}],s:i}", "a", "x <secret-hidden>", "b",
                                       "<secret-hidden>", "n", 1);

    (void)state;
    assert_int_equal(credentials_keep(credentials,
                                      &(struct credential_order){"https://a", "", "another", 1},
                                      &err),
                     0);
    assert_masked(credentials, "as s3cr&ts3cr&t, s3cr%26t and another",
                  "as <secret-hidden><secret-hidden>, <secret-hidden> and <secret-hidden>");
    assert_masked(credentials, "s3cr&", "s3cr&");
    credentials_mask_json(credentials, json);
    assert_true(json_equal(json, expected));
    credentials_free(credentials);
}

/* As `base64`, `xxd`, a URL, JSON and a shell write it, alone and inside of other text. */
static void other_forms_of_a_password_are_hidden(void **state)
{
    static const char *const forms[] = {
        "Z2hwX3RvayZuL3g3",                    /* base64 */
        "d0doZ2hwX3RvayZuL3g3ISE=",            /* after three bytes */
        "eGdocF90b2smbi94Nw==",                /* after one */
        "eHhnaHBfdG9rJm4veDc=",                /* after two */
        "6768705f746f6b266e2f7837",            /* hexadecimal */
        "6768 705f 746f 6b26 6e2f 7837",       /* as xxd prints it */
        "67:68:70:5F:74:6F:6B:26:6E:2F:78:37", /* as openssl prints it */
        "ghp_tok%26n%2Fx7",                    /* in a URL */
        "ghp_tok\\u0026n\\/x7",                /* in JSON */
        "ghp_tok\\&n/x7",                      /* in a shell */
    };
    struct credentials *credentials = with_password("ghp_tok&n/x7", 1000);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        strbuf_appendf(&text, "a %s z", forms[i]);
        credentials_mask_append(credentials, text.text, text.len, &out);
        if (strstr(out.text, "<secret-hidden>") == NULL ||
            out.len > strlen("a <secret-hidden> z") + 9)
            fail_msg("%s: %s", forms[i], out.text);
        assert_true(credentials_longest(credentials) >= strlen(forms[i]));
    }
    credentials_free(credentials);
}

/* Tokens are renewed for as long as a sandbox lives. */
static void the_newest_of_many_passwords_stay_hidden(void **state)
{
    struct credentials *credentials = with_password("password-0", 1000);
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 1; i < 200; i++) {
        CLEANUP(strbuf_done) struct strbuf password = STRBUF_INIT;
        struct credential_order order = {"https://a", "u", NULL, 1000};

        strbuf_appendf(&password, "password-%d.", i);
        order.password = password.text;
        assert_int_equal(credentials_keep(credentials, &order, &err), 0);
    }
    for (int i = 170; i < 200; i++) {
        CLEANUP(strbuf_done) struct strbuf password = STRBUF_INIT;

        strbuf_appendf(&password, "password-%d.", i);
        assert_masked(credentials, password.text, "<secret-hidden>");
    }
    credentials_free(credentials);
}

static void what_cannot_be_hidden_is_refused(void **state)
{
    struct credentials *credentials = credentials_new();
    struct credential_order order = {"https://a", "u", "\xc3\xa4\xc3\xa4\xc3\xa4", 1000};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(credentials_keep(credentials, &order, &err), -1);
    assert_string_equal(err.message, "A password must be one line of 6 to 4096 characters");
    credentials_free(credentials);
}

/* git's protocol has a member on each line: an end of a line would begin another one. */
static void what_git_would_read_as_more_is_refused(void **state)
{
    static const struct credential_order orders[] = {
        {"https://a", "u", "secret\nhost=evil.example", 1000},
        {"https://a", "u", "secret\rhost", 1000},
        {"https://a", "u\nhost=evil.example", "secret", 1000},
        {"https://a", "u\r", "secret", 1000},
        {"https://a", "u:v", "secret", 1000},
    };
    struct credentials *credentials = credentials_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct error err = ERROR_INIT;

        assert_int_equal(credentials_keep(credentials, &orders[i], &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
    assert_int_equal(credentials_find(credentials, "https://a").state, CREDENTIAL_UNKNOWN);
    credentials_free(credentials);
}

static void it_is_shown_to_its_origin_until_it_expires(void **state)
{
    struct credentials *credentials = with_password("secret", 60000);
    struct credentials *late = with_password("secret", 0);
    struct credential_view view = credentials_find(credentials, "https://a");

    (void)state;
    assert_int_equal(view.state, CREDENTIAL_VALID);
    assert_string_equal(view.username, "oauth2");
    assert_string_equal(view.password, "secret");
    assert_int_equal(credentials_find(credentials, "https://b").state, CREDENTIAL_UNKNOWN);
    view = credentials_find(late, "https://a");
    assert_int_equal(view.state, CREDENTIAL_EXPIRED);
    assert_string_equal(view.password, "");
    assert_masked(late, "secret", "<secret-hidden>");
    credentials_free(credentials);
    credentials_free(late);
}

int credentials_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_a_password_is_hidden_also_when_it_was_replaced),
        cmocka_unit_test(other_forms_of_a_password_are_hidden),
        cmocka_unit_test(the_newest_of_many_passwords_stay_hidden),
        cmocka_unit_test(what_cannot_be_hidden_is_refused),
        cmocka_unit_test(what_git_would_read_as_more_is_refused),
        cmocka_unit_test(it_is_shown_to_its_origin_until_it_expires),
    };

    return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
