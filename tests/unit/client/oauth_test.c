/*
 * The parts of signing in that need no server; those that do are tested with one, in e2e.
 */
#include "client/http.h"
#include "client/oauth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"

/* RFC 7636, appendix B. */
static void challenge_is_that_of_the_rfc(void **state)
{
    CLEANUP(strbuf_done) struct strbuf challenge = STRBUF_INIT;

    (void)state;
    oauth_append_challenge(&challenge, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    assert_string_equal(challenge.text, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void form_encodes_what_a_form_cannot_hold(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    json_auto_t *form = json_object();

    (void)state;
    json_put_text(form, "a", "1&b=2 +%");
    json_put(form, "n", json_integer(7));
    json_put_text(form, "z", "");
    oauth_append_form(&out, form);
    assert_string_equal(out.text, "a=1%26b%3D2%20%2B%25&z=");
}

static void addresses_that_must_not_be_called_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "ftp://a.example/",
        "https://user:pass@a.example/",
        "https://a.example/#part",
        "https://a.example/a b",
        "https://a.example/a\r\nX: y",
        "http://a.example/",
        "HTTPS//a.example",
    };
    struct error err = ERROR_INIT;
    struct http *http = NULL;
    struct oauth strict = {NULL, ADDRESS_OF_USER, 0};
    struct oauth local = {NULL, ADDRESS_OF_ADMINISTRATOR, 0};

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    strict.http = http;
    local.http = http;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(oauth_check_url(&strict, wrong[i], &err), -1);
    assert_int_equal(oauth_check_url(&strict, "https://a.example/x?y=@z", &err), 0);
    assert_int_equal(oauth_check_url(&local, "http://127.0.0.1:8/x", &err), 0);
    assert_int_equal(oauth_check_url(&local, "javascript://x/%0aalert(1)", &err), -1);
    http_free(http);
}

static void client_shows_itself_as_the_provider_can_read(void **state)
{
    json_auto_t *silent = json_object();
    json_auto_t *basic = json_object();
    json_t *methods = json_array();

    (void)state;
    json_push(methods, json_string("private_key_jwt"));
    json_push(methods, json_string("client_secret_basic"));
    json_put(basic, "auth_methods", methods);
    assert_string_equal(oauth_pick_method(silent, false), "none");
    assert_string_equal(oauth_pick_method(silent, true), "client_secret_basic");
    assert_string_equal(oauth_pick_method(basic, false), "client_secret_basic");
    assert_string_equal(oauth_pick_method(basic, true), "client_secret_basic");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenge_is_that_of_the_rfc),
        cmocka_unit_test(form_encodes_what_a_form_cannot_hold),
        cmocka_unit_test(addresses_that_must_not_be_called_are_refused),
        cmocka_unit_test(client_shows_itself_as_the_provider_can_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
