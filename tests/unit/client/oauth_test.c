/*
 * The parts of signing in at a server: addresses, forms, and what its token endpoint answers. The
 * whole exchange is tested in e2e.
 */
#include "client/http.h"
#include "client/oauth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/test_server.h"

enum { PATIENCE_MS = 60000 };

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
    assert_string_equal(oauth_pick_method(silent, OAUTH_PUBLIC), "none");
    assert_string_equal(oauth_pick_method(silent, OAUTH_CONFIDENTIAL), "client_secret_basic");
    assert_string_equal(oauth_pick_method(basic, OAUTH_PUBLIC), "client_secret_basic");
    assert_string_equal(oauth_pick_method(basic, OAUTH_CONFIDENTIAL), "client_secret_basic");
}

/* Asks a server that gives this answer for tokens; the code of the error. */
static enum error_code ask_tokens(const char *answer)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct test_reply reply = {.ending = TEST_CLOSE};
    struct test_server *server = NULL;
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS};
    json_auto_t *provider = json_object();
    json_auto_t *client = json_object();
    json_auto_t *form = json_object();
    json_auto_t *tokens = NULL;
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    strbuf_appendf(&bytes, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(answer),
                   answer);
    reply.bytes = bytes.text;
    server = test_server_start(&reply, 1, NULL);
    assert_int_equal(http_open(&http, &err), 0);
    oauth.http = http;
    json_put_text(provider, "token_endpoint", test_server_url(server, "/token"));
    json_put_text(client, "client_id", "deft");
    if (oauth_ask_tokens(&oauth, provider, client, form, &tokens, &err) == 0)
        assert_string_equal(json_text_or(tokens, "access_token", ""), "abc");
    else
        assert_null(tokens);
    http_free(http);
    test_server_stop(server);
    return err.code;
}

/* The token goes into a header of each later request. */
static void token_that_does_not_fit_in_a_header_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"access_token\":\"abc\\r\\nX-Admin: 1\"}",
        "{\"access_token\":\"abc\\nX-Admin: 1\"}",
        "{\"access_token\":\"abc\\r\"}",
        "{\"access_token\":\"\"}",
        "{\"access_token\":7}",
        "{}",
        "[]",
        "abc",
        "{\"access_token\":\"abc\",\"token_type\":\"mac\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        if (ask_tokens(wrong[i]) != ERROR_INVALID)
            fail_msg("%s", wrong[i]);
    }
    assert_int_equal(ask_tokens("{\"access_token\":\"abc\",\"token_type\":\"bearer\"}"),
                     ERROR_NONE);
    assert_int_equal(ask_tokens("{\"access_token\":\"abc\"}"), ERROR_NONE);
}

/* The request by which a client with a secret asks for tokens. */
static void ask_with_secret(const char *method, struct strbuf *request_out)
{
    static const struct test_reply reply = {
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"access_token\":\"abc\"}",
        .ending = TEST_CLOSE};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS};
    json_auto_t *provider = json_object();
    json_auto_t *client = json_object();
    json_auto_t *form = json_object();
    json_auto_t *tokens = NULL;
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    assert_int_equal(http_open(&http, &err), 0);
    oauth.http = http;
    json_put_text(provider, "token_endpoint", test_server_url(server, "/token"));
    json_put_text(client, "client_id", "deft:1");
    json_put_text(client, "client_secret", "hush");
    json_put_text(client, "token_endpoint_auth_method", method);
    json_put_text(form, "code", "c-1");
    assert_int_equal(oauth_ask_tokens(&oauth, provider, client, form, &tokens, &err), 0);
    strbuf_append(request_out, test_server_request(server, 0));
    http_free(http);
    test_server_stop(server);
}

static void secret_is_shown_in_one_place_only(void **state)
{
    CLEANUP(strbuf_done) struct strbuf basic = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf post = STRBUF_INIT;

    (void)state;
    ask_with_secret("client_secret_basic", &basic);
    /* deft%3A1:hush */
    assert_non_null(strstr(basic.text, "Authorization: Basic ZGVmdCUzQTE6aHVzaA==\r\n"));
    assert_null(strstr(basic.text, "client_secret"));
    assert_non_null(strstr(basic.text, "code=c-1"));
    ask_with_secret("client_secret_post", &post);
    assert_null(strstr(post.text, "Authorization:"));
    assert_non_null(strstr(post.text, "client_id=deft%3A1"));
    assert_non_null(strstr(post.text, "client_secret=hush"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenge_is_that_of_the_rfc),
        cmocka_unit_test(form_encodes_what_a_form_cannot_hold),
        cmocka_unit_test(addresses_that_must_not_be_called_are_refused),
        cmocka_unit_test(client_shows_itself_as_the_provider_can_read),
        cmocka_unit_test(token_that_does_not_fit_in_a_header_is_refused),
        cmocka_unit_test(secret_is_shown_in_one_place_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
