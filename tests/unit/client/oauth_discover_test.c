/*
 * Finding the authorization server of a server: what each of the two may say, and what is not
 * believed. Both are the same test server, which answers request by request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/oauth.h"
#include "client/test_server.h"

enum { PATIENCE_MS = 60000 };

/* The servers' replies; "@" is replaced by the test server's origin. NULL: 404. */
struct said {
    const char *resource;
    const char *issuer; /* as the server names it */
    const char *is;     /* as the issuer says itself */
    const char *token_endpoint;
    const char *methods; /* of the code challenge */
};

static const struct said honest = {"@/mcp", "@/login", "@/login", "@/token", "[\"S256\"]"};

static void append_at(struct strbuf *out, const char *text, const char *origin)
{
    for (; *text != '\0'; text++) {
        if (*text == '@')
            strbuf_append(out, origin);
        else
            strbuf_append_char(out, *text);
    }
}

static void append_reply(struct strbuf *out, const struct strbuf *body)
{
    strbuf_appendf(out, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                   body->len, body->text);
}

static void append_resource(struct strbuf *out, const struct said *said, const char *origin)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf resource = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf issuer = STRBUF_INIT;
    json_auto_t *json = json_object();
    json_t *servers = json_array();

    append_at(&resource, said->resource, origin);
    append_at(&issuer, said->issuer, origin);
    json_push(servers, json_text_of(issuer.text));
    json_put_text(json, "resource", resource.text);
    json_put(json, "authorization_servers", servers);
    json_append_text(&body, json);
    append_reply(out, &body);
}

static void append_metadata(struct strbuf *out, const struct said *said, const char *origin)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&text,
                   "{\"issuer\":\"%s\",\"authorization_endpoint\":\"@/authorize\","
                   "\"token_endpoint\":\"%s\",\"code_challenge_methods_supported\":%s}",
                   said->is, said->token_endpoint, said->methods);
    append_at(&body, text.text, origin);
    append_reply(out, &body);
}

/*
 * Discovers at "@/mcp": the server answers the call, then tells its metadata, then the issuer's.
 * Returns the code of the error.
 */
static enum error_code discover(const struct said *said, json_t **provider_out)
{
    static const char refused[] = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
                                  "WWW-Authenticate: Bearer scope=\"read write\"\r\n"
                                  "Content-Length: 0\r\n\r\n";
    CLEANUP(strbuf_done) struct strbuf resource = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf metadata = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf origin = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
    struct test_reply replies[] = {
        {.bytes = refused, .ending = TEST_CLOSE}, {.ending = TEST_CLOSE}, {.ending = TEST_CLOSE}};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS};
    struct error err = ERROR_INIT;
    struct http *http = NULL;

    strbuf_append(&origin, test_server_url(server, ""));
    append_resource(&resource, said, origin.text);
    append_metadata(&metadata, said, origin.text);
    replies[1].bytes = resource.text;
    replies[2].bytes = metadata.text;
    strbuf_appendf(&url, "%s/mcp", origin.text);
    assert_int_equal(http_open(&http, &err), 0);
    oauth.http = http;
    if (oauth_discover(&oauth, url.text, provider_out, &err) < 0)
        assert_null(*provider_out);
    http_free(http);
    test_server_stop(server);
    return err.code;
}

static void server_that_says_all_is_found(void **state)
{
    json_auto_t *provider = NULL;

    (void)state;
    assert_int_equal(discover(&honest, &provider), ERROR_NONE);
    assert_non_null(strstr(json_text_or(provider, "token_endpoint", ""), "/token"));
    assert_non_null(strstr(json_text_or(provider, "resource", ""), "/mcp"));
    assert_string_equal(json_text_or(provider, "scope", ""), "read write");
}

static void assert_refused(const struct said *said)
{
    json_auto_t *provider = NULL;

    if (discover(said, &provider) != ERROR_INVALID)
        fail_msg("%s %s %s %s %s", said->resource, said->issuer, said->is, said->token_endpoint,
                 said->methods);
}

/* A token for another server would be sent to this one. */
static void server_that_says_it_is_another_one_is_refused(void **state)
{
    static const char *const others[] = {
        "https://bank.example/", "@/other", "@/mc", "http://", "http:", "@/mcp/deeper"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct said said = honest;

        said.resource = others[i];
        assert_refused(&said);
    }
}

static void server_may_name_itself_by_a_part_of_its_address(void **state)
{
    static const char *const same[] = {"@/mcp/", "@", "@/"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        struct said said = honest;
        json_auto_t *provider = NULL;

        said.resource = same[i];
        assert_int_equal(discover(&said, &provider), ERROR_NONE);
    }
}

static void issuer_that_is_another_one_or_not_safe_is_refused(void **state)
{
    struct said said = honest;

    (void)state;
    said.is = "https://other.example";
    assert_refused(&said);
    said.is = "@/login2";
    assert_refused(&said);
    said = honest;
    said.token_endpoint = "javascript:alert(1)";
    assert_refused(&said);
    said = honest;
    said.methods = "[\"plain\"]";
    assert_refused(&said);
    said.methods = "null";
    assert_refused(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_that_says_all_is_found),
        cmocka_unit_test(server_that_says_it_is_another_one_is_refused),
        cmocka_unit_test(server_may_name_itself_by_a_part_of_its_address),
        cmocka_unit_test(issuer_that_is_another_one_or_not_safe_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
