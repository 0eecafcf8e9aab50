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
#include "support/json_path.h"

enum { PATIENCE_MS = 60000, URL_MAX_BYTES = 8000, REPLY_MAX_BYTES = 256 * 1024 };

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
    struct oauth strict = {NULL, ADDRESS_OF_USER, 0, NULL};
    struct oauth local = {NULL, ADDRESS_OF_ADMINISTRATOR, 0, NULL};

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
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS, NULL};
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
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS, NULL};
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

static void refused_addresses_say_what_is_wrong(void **state)
{
    static const char scheme[] = "Sign-in addresses must begin with https://";
    static const char form[] = "A sign-in address is not a valid URL";
    static const struct {
        const char *url;
        const char *message;
    } cases[] = {
        {"http://a.example/", scheme},        {"htt", scheme},
        {"https:/a.example/", scheme},        {"https://?a", form},
        {"https://a@b.example", form},        {"https://a.example#b", form},
        {"https://a.example/\x7f", form},     {"https://a.example/\x1f", form},
        {"https://a.example/\xc3\xa4", NULL}, {"https://a.example?b@c", NULL},
        {"https://a.example/!", NULL},
    };
    struct error err = ERROR_INIT;
    struct http *http = NULL;
    struct oauth strict = {NULL, ADDRESS_OF_USER, 0, NULL};

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    strict.http = http;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int rc = oauth_check_url(&strict, cases[i].url, &err);

        assert_int_equal(rc, cases[i].message == NULL ? 0 : -1);
        if (cases[i].message != NULL)
            assert_string_equal(err.message, cases[i].message);
    }
    http_free(http);
}

static void longest_address_has_8000_bytes(void **state)
{
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct http *http = NULL;
    struct oauth strict = {NULL, ADDRESS_OF_USER, 0, NULL};

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    strict.http = http;
    strbuf_append(&url, "https://a.example/");
    while (url.len < URL_MAX_BYTES)
        strbuf_append_char(&url, 'x');
    assert_int_equal(oauth_check_url(&strict, url.text, &err), 0);
    strbuf_append_char(&url, 'x');
    assert_int_equal(oauth_check_url(&strict, url.text, &err), -1);
    http_free(http);
}

static const char *pick(const char *methods, enum oauth_client_type type)
{
    json_auto_t *provider = json_object();
    struct error err = ERROR_INIT;
    json_t *list = NULL;

    assert_int_equal(json_parse(methods, strlen(methods), &list, &err), 0);
    json_put(provider, "auth_methods", list);
    return oauth_pick_method(provider, type);
}

static void simplest_method_that_is_offered_is_picked(void **state)
{
    static const struct {
        const char *offered;
        const char *public;
        const char *confidential;
    } cases[] = {
        {"[]", "none", "client_secret_basic"},
        {"[\"none\"]", "none", "client_secret_post"},
        {"[\"client_secret_basic\",\"client_secret_post\"]", "client_secret_post",
         "client_secret_post"},
        {"[\"client_secret_basic\",\"none\"]", "none", "client_secret_basic"},
        {"[7,\"private_key_jwt\"]", "none", "client_secret_post"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_string_equal(pick(cases[i].offered, OAUTH_PUBLIC), cases[i].public);
        assert_string_equal(pick(cases[i].offered, OAUTH_CONFIDENTIAL), cases[i].confidential);
    }
}

/* --- one server --- */

/* A sign-in server that gives this answer, and a client of it. */
struct signing {
    struct strbuf bytes;
    struct test_reply reply;
    struct test_server *server;
    struct http *http;
    struct oauth oauth;
    json_t *provider;
    struct error err;
};

static void signing_begin(struct signing *signing, const char *status, const char *answer)
{
    *signing = (struct signing){.bytes = STRBUF_INIT, .err = ERROR_INIT};
    strbuf_appendf(&signing->bytes, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status,
                   strlen(answer), answer);
    signing->reply = (struct test_reply){.bytes = signing->bytes.text, .ending = TEST_CLOSE};
    signing->server = test_server_start(&signing->reply, 1, NULL);
    assert_int_equal(http_open(&signing->http, &signing->err), 0);
    signing->oauth = (struct oauth){signing->http, ADDRESS_OF_ADMINISTRATOR,
                                    clock_monotonic_ms() + PATIENCE_MS, NULL};
    signing->provider = json_object();
    json_put_text(signing->provider, "registration_endpoint",
                  test_server_url(signing->server, "/register"));
    json_put_text(signing->provider, "token_endpoint", test_server_url(signing->server, "/token"));
}

static void signing_end(struct signing *signing)
{
    json_decref(signing->provider);
    http_free(signing->http);
    test_server_stop(signing->server);
    strbuf_done(&signing->bytes);
}

static int sign_in(struct signing *signing, const json_t *client, json_t **tokens_out)
{
    json_auto_t *form = json_object();

    json_put_text(form, "grant_type", "authorization_code");
    return oauth_ask_tokens(&signing->oauth, signing->provider, client, form, tokens_out,
                            &signing->err);
}

static void client_is_registered_as_it_is_described(void **state)
{
    json_auto_t *metadata = json_object();
    json_auto_t *client = NULL;
    struct signing signing;
    const char *sent = NULL;

    (void)state;
    json_put_text(metadata, "client_name", "deft");
    signing_begin(&signing, "201 Created", "{\"client_id\":\"c-1\",\"client_secret\":\"s\"}");
    assert_int_equal(
        oauth_register(&signing.oauth, signing.provider, metadata, &client, &signing.err), 0);
    assert_string_equal(json_text_or(client, "client_id", ""), "c-1");
    assert_string_equal(json_text_or(client, "client_secret", ""), "s");
    sent = test_server_request(signing.server, 0);
    assert_int_equal(strncmp(sent, "POST /register HTTP/1.1\r\n", 25), 0);
    assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
    assert_json_at(strstr(sent, "\r\n\r\n") + 4, "", "{\"client_name\":\"deft\"}");
    signing_end(&signing);
}

static const struct {
    const char *status;
    const char *answer;
    const char *message; /* its end */
    enum error_code code;
} refusals[] = {
    {"400 Bad", "{\"error\":\"invalid_grant\",\"error_description\":\"too late\"}",
     " (HTTP 400): invalid_grant, too late", ERROR_INVALID},
    {"403 No", "{\"error\":\"denied\"}", " (HTTP 403): denied", ERROR_INVALID},
    {"500 Oops", "<html>", " (HTTP 500)", ERROR_UNAVAILABLE},
    {"503 Oops", "[\"x\"]", " (HTTP 503)", ERROR_UNAVAILABLE},
};

static void refusal_is_told_in_the_servers_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP(strbuf_done) struct strbuf registering = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf asking = STRBUF_INIT;
        json_auto_t *nothing = json_object();
        json_auto_t *client = NULL;
        json_auto_t *tokens = NULL;
        struct signing signing;

        strbuf_appendf(&registering, "The sign-in server refused to register this client%s",
                       refusals[i].message);
        strbuf_appendf(&asking, "The sign-in server refused to issue tokens%s",
                       refusals[i].message);
        signing_begin(&signing, refusals[i].status, refusals[i].answer);
        assert_int_equal(
            oauth_register(&signing.oauth, signing.provider, nothing, &client, &signing.err), -1);
        assert_string_equal(signing.err.message, registering.text);
        assert_int_equal(signing.err.code, refusals[i].code);
        assert_int_equal(sign_in(&signing, nothing, &tokens), -1);
        assert_string_equal(signing.err.message, asking.text);
        assert_null(client);
        assert_null(tokens);
        signing_end(&signing);
    }
}

static void answer_without_what_was_asked_for_is_refused(void **state)
{
    static const struct {
        const char *answer;
        const char *registering;
        const char *asking;
    } cases[] = {
        {"{}", "The sign-in server's registration reply has no client_id",
         "The sign-in server's reply has no access token"},
        {"{\"client_id\":\"\",\"access_token\":\"a\\nb\"}",
         "The sign-in server's registration reply has no client_id",
         "The sign-in server's reply has no access token"},
        {"[]", "The sign-in server did not reply with JSON",
         "The sign-in server did not reply with JSON"},
        {"<html>", "The sign-in server did not reply with JSON",
         "The sign-in server did not reply with JSON"},
        {"{\"client_id\":7,\"access_token\":\"a\",\"token_type\":\"mac\"}",
         "The sign-in server's registration reply has no client_id",
         "The sign-in server issued a token of an unknown type"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *nothing = json_object();
        json_auto_t *client = NULL;
        json_auto_t *tokens = NULL;
        struct signing signing;

        /* A redirect is not followed: it is an answer like another one. */
        signing_begin(&signing, i % 2 == 0 ? "200 OK" : "399 Odd", cases[i].answer);
        assert_int_equal(
            oauth_register(&signing.oauth, signing.provider, nothing, &client, &signing.err), -1);
        assert_string_equal(signing.err.message, cases[i].registering);
        assert_int_equal(sign_in(&signing, nothing, &tokens), -1);
        assert_string_equal(signing.err.message, cases[i].asking);
        assert_null(client);
        assert_null(tokens);
        signing_end(&signing);
    }
}

static void provider_without_an_endpoint_is_not_asked(void **state)
{
    json_auto_t *nothing = json_object();
    json_auto_t *client = NULL;
    json_auto_t *tokens = NULL;
    struct signing signing;

    (void)state;
    signing_begin(&signing, "200 OK", "{}");
    assert_int_equal(oauth_register(&signing.oauth, nothing, nothing, &client, &signing.err), -1);
    assert_int_equal(signing.err.code, ERROR_INVALID);
    assert_int_equal(
        oauth_ask_tokens(&signing.oauth, nothing, nothing, nothing, &tokens, &signing.err), -1);
    assert_int_equal(signing.err.code, ERROR_INVALID);
    assert_int_equal(test_server_n_connections(signing.server), 0);
    signing_end(&signing);
}

static void exchange_that_is_late_asks_nothing(void **state)
{
    json_auto_t *nothing = json_object();
    json_auto_t *tokens = NULL;
    struct signing signing;

    (void)state;
    signing_begin(&signing, "200 OK", "{\"access_token\":\"a\"}");
    signing.oauth.deadline_ms = clock_monotonic_ms();
    assert_int_equal(sign_in(&signing, nothing, &tokens), -1);
    assert_int_equal(signing.err.code, ERROR_TIMEOUT);
    assert_string_equal(signing.err.message, "Signing in took too long");
    assert_int_equal(test_server_n_connections(signing.server), 0);
    signing_end(&signing);
}

static void silent_server_is_left_at_the_deadline(void **state)
{
    json_auto_t *nothing = json_object();
    json_auto_t *tokens = NULL;
    struct signing signing;

    (void)state;
    signing_begin(&signing, "200 OK", "{\"access_token\":\"a\"}");
    signing.reply = (struct test_reply){.bytes = "", .ending = TEST_HOLD};
    signing.oauth.deadline_ms = clock_monotonic_ms() + 100;
    assert_int_equal(sign_in(&signing, nothing, &tokens), -1);
    assert_int_equal(signing.err.code, ERROR_TIMEOUT);
    signing_end(&signing);
}

/* A client without a secret has nothing to show but its id, whatever its method is called. */
static void client_without_a_secret_names_itself_in_the_form(void **state)
{
    static const char *const methods[] = {NULL, "none", "client_secret_basic"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        json_auto_t *client = json_object();
        json_auto_t *tokens = NULL;
        struct signing signing;
        const char *sent = NULL;

        json_put_text(client, "client_id", "deft");
        json_put_text(client, "token_endpoint_auth_method", methods[i]);
        signing_begin(&signing, "200 OK", "{\"access_token\":\"a\",\"refresh_token\":\"r\"}");
        assert_int_equal(sign_in(&signing, client, &tokens), 0);
        assert_string_equal(json_text_or(tokens, "refresh_token", ""), "r");
        sent = test_server_request(signing.server, 0);
        assert_int_equal(strncmp(sent, "POST /token HTTP/1.1\r\n", 22), 0);
        assert_non_null(strstr(sent, "\r\nAccept: application/json\r\n"));
        assert_non_null(strstr(sent, "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
        assert_null(strstr(sent, "\r\nAuthorization:"));
        assert_string_equal(strstr(sent, "\r\n\r\n") + 4,
                            "grant_type=authorization_code&client_id=deft");
        signing_end(&signing);
    }
}

static enum error_code ask_for_long_reply(size_t n_bytes)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    json_auto_t *nothing = json_object();
    json_auto_t *tokens = NULL;
    struct signing signing;

    strbuf_append(&answer, "{\"access_token\":\"a\"}");
    while (answer.len < n_bytes)
        strbuf_append_char(&answer, ' ');
    signing_begin(&signing, "200 OK", answer.text);
    if (sign_in(&signing, nothing, &tokens) == 0)
        assert_int_equal(signing.err.code, ERROR_NONE);
    signing_end(&signing);
    return signing.err.code;
}

static void longest_reply_has_a_quarter_of_a_mebibyte(void **state)
{
    (void)state;
    assert_int_equal(ask_for_long_reply(REPLY_MAX_BYTES), ERROR_NONE);
    assert_int_equal(ask_for_long_reply(REPLY_MAX_BYTES + 1), ERROR_TOO_LARGE);
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
        cmocka_unit_test(refused_addresses_say_what_is_wrong),
        cmocka_unit_test(longest_address_has_8000_bytes),
        cmocka_unit_test(simplest_method_that_is_offered_is_picked),
        cmocka_unit_test(client_is_registered_as_it_is_described),
        cmocka_unit_test(refusal_is_told_in_the_servers_words),
        cmocka_unit_test(answer_without_what_was_asked_for_is_refused),
        cmocka_unit_test(provider_without_an_endpoint_is_not_asked),
        cmocka_unit_test(exchange_that_is_late_asks_nothing),
        cmocka_unit_test(silent_server_is_left_at_the_deadline),
        cmocka_unit_test(client_without_a_secret_names_itself_in_the_form),
        cmocka_unit_test(longest_reply_has_a_quarter_of_a_mebibyte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
