#include "sandbox/credentials.h"

#include <string.h>

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
        cmocka_unit_test(it_is_shown_to_its_origin_until_it_expires),
    };

    return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
