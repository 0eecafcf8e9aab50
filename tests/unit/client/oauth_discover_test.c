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
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "client/oauth.h"
#include "client/test_server.h"
#include "support/json_path.h"

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
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS, NULL};
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

/* --- any answers --- */

/* One answer: its first line and further headers, and its body; "@" is the server's origin. */
struct given {
    const char *head;
    const char *body;
};

/* What came of a discovery: the first lines asked for, and the result. */
struct outcome {
    struct strbuf lines; /* "POST /mcp|GET /x|" */
    struct strbuf origin;
    char *provider; /* as JSON, with "@" for the origin; NULL: none */
    struct error err;
};

static void outcome_done(struct outcome *outcome)
{
    strbuf_done(&outcome->lines);
    strbuf_done(&outcome->origin);
    mem_free(outcome->provider);
}

static void append_given(struct strbuf *out, const struct given *given, const char *origin)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    append_at(&body, given->body, origin);
    strbuf_append(out, "HTTP/1.1 ");
    append_at(out, given->head, origin);
    strbuf_appendf(out, "\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", body.len,
                   body.text);
}

/* The text with "@" in place of the origin. */
static char *without_origin(const char *text, const char *origin)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    while (*text != '\0') {
        if (strncmp(text, origin, strlen(origin)) == 0) {
            strbuf_append_char(&out, '@');
            text += strlen(origin);
        } else {
            strbuf_append_char(&out, *text++);
        }
    }
    return strbuf_take(&out);
}

static void note_lines(struct outcome *outcome, struct test_server *server)
{
    for (size_t i = 0; i < test_server_n_requests(server); i++) {
        const char *request = test_server_request(server, i);
        size_t len = strcspn(request, "\r");

        strbuf_append_bytes(&outcome->lines, request, len - strlen(" HTTP/1.1"));
        strbuf_append_char(&outcome->lines, '|');
    }
}

enum { GIVEN_MAX = 8 };

/* Discovers at the origin with that path; the last answer is given to all further requests. */
static struct outcome discover_at(const char *path, const struct given *given, size_t n)
{
    struct strbuf texts[GIVEN_MAX] = {STRBUF_INIT};
    struct test_reply replies[GIVEN_MAX] = {{.bytes = NULL}};
    struct test_server *server = test_server_start(replies, n, NULL);
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS, NULL};
    struct outcome outcome = {.lines = STRBUF_INIT, .origin = STRBUF_INIT, .err = ERROR_INIT};
    CLEANUP(mem_freep) char *url = NULL;
    json_auto_t *provider = NULL;
    struct http *http = NULL;

    strbuf_append(&outcome.origin, test_server_url(server, ""));
    url = mem_dup_text(test_server_url(server, path));
    for (size_t i = 0; i < n; i++) {
        texts[i] = (struct strbuf)STRBUF_INIT;
        append_given(&texts[i], &given[i], outcome.origin.text);
        replies[i] = (struct test_reply){.bytes = texts[i].text, .ending = TEST_CLOSE};
    }
    assert_int_equal(http_open(&http, &outcome.err), 0);
    oauth.http = http;
    if (oauth_discover(&oauth, url, &provider, &outcome.err) == 0) {
        CLEANUP(mem_freep) char *text = json_to_text(provider);

        outcome.provider = without_origin(text, outcome.origin.text);
    }
    note_lines(&outcome, server);
    http_free(http);
    test_server_stop(server);
    for (size_t i = 0; i < n; i++)
        strbuf_done(&texts[i]);
    return outcome;
}

#define NO {"404 Not Found", "{}"}
#define CHALLENGE(parameters) "401 Unauthorized\r\nWWW-Authenticate: Bearer " parameters
#define METADATA(issuer)                                                                           \
    {"200 OK",                                                                                     \
     "{\"issuer\":\"" issuer "\",\"authorization_endpoint\":\"@/authorize\","                      \
     "\"token_endpoint\":\"@/token\",\"code_challenge_methods_supported\":[\"plain\",\"S256\"]}"}

/* All the places where a document may be, in the order of the specifications. */
static void documents_are_looked_for_where_they_may_be(void **state)
{
    static const struct given none[] = {{"200 OK", "{}"}, NO};
    static const struct given named[] = {
        {CHALLENGE("x=1"), ""},
        NO,
        {"200 OK", "{\"resource\":\"@/a/b\",\"authorization_servers\":[\"@/login/1?x\"]}"},
        NO,
    };
    static const struct {
        const char *path;
        const struct given *given;
        size_t n;
        const char *lines;
    } cases[] = {
        {"/a/b?c", none, ARRAY_SIZE(none),
         "POST /a/b?c|GET /.well-known/oauth-protected-resource/a/b|"
         "GET /.well-known/oauth-protected-resource|"
         "GET /.well-known/oauth-authorization-server|GET /.well-known/openid-configuration|"},
        {"/", none, ARRAY_SIZE(none),
         "POST /|GET /.well-known/oauth-protected-resource|"
         "GET /.well-known/oauth-authorization-server|GET /.well-known/openid-configuration|"},
        {"", none, ARRAY_SIZE(none),
         "POST /|GET /.well-known/oauth-protected-resource|"
         "GET /.well-known/oauth-authorization-server|GET /.well-known/openid-configuration|"},
        {"/a/b", named, ARRAY_SIZE(named),
         "POST /a/b|GET /.well-known/oauth-protected-resource/a/b|"
         "GET /.well-known/oauth-protected-resource|"
         "GET /.well-known/oauth-authorization-server/login/1|"
         "GET /.well-known/openid-configuration/login/1|"
         "GET /login/1/.well-known/openid-configuration|"
         "GET /.well-known/oauth-authorization-server|GET /.well-known/openid-configuration|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(outcome_done) struct outcome outcome =
            discover_at(cases[i].path, cases[i].given, cases[i].n);

        assert_string_equal(outcome.lines.text, cases[i].lines);
        assert_int_equal(outcome.err.code, ERROR_INVALID);
        assert_string_equal(outcome.err.message, "The server does not name a sign-in server");
    }
}

/* Only a page with a status of success and an object is a document. */
static void page_of_another_kind_is_no_document(void **state)
{
    static const struct given given[] = {
        {"200 OK", ""},
        {"302 Found", "{\"resource\":\"https://bank.example/\"}"},
        {"200 OK", "<html>"},
        {"300 Choices", "{}"},
        {"299 Fine", "{\"issuer\":\"https://other.example\"}"},
    };
    CLEANUP(outcome_done) struct outcome outcome = discover_at("/a", given, ARRAY_SIZE(given));

    (void)state;
    assert_string_equal(outcome.lines.text, "POST /a|GET /.well-known/oauth-protected-resource/a|"
                                            "GET /.well-known/oauth-protected-resource|"
                                            "GET /.well-known/oauth-authorization-server|"
                                            "GET /.well-known/openid-configuration|");
    assert_non_null(strstr(outcome.err.message, "The sign-in server's metadata does not name "));
}

/* The request without a key is the first that a client of the protocol makes. */
static void server_is_asked_as_a_client_asks_first(void **state)
{
    static const struct test_reply no = {
        .bytes = "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        .ending = TEST_CLOSE};
    struct test_server *server = test_server_start(&no, 1, NULL);
    struct oauth oauth = {NULL, ADDRESS_OF_ADMINISTRATOR, clock_monotonic_ms() + PATIENCE_MS, NULL};
    json_auto_t *provider = NULL;
    struct error err = ERROR_INIT;
    struct http *http = NULL;
    const char *sent = NULL;

    (void)state;
    assert_int_equal(http_open(&http, &err), 0);
    oauth.http = http;
    assert_int_equal(oauth_discover(&oauth, test_server_url(server, "/mcp"), &provider, &err), -1);
    sent = test_server_request(server, 0);
    assert_non_null(strstr(sent, "\r\nAccept: application/json, text/event-stream\r\n"));
    assert_non_null(strstr(sent, "\r\nContent-Type: application/json\r\n"));
    assert_json_at(strstr(sent, "\r\n\r\n") + 4, "method", "\"initialize\"");
    assert_json_at(strstr(sent, "\r\n\r\n") + 4, "id", "1");
    assert_non_null(strstr(test_server_request(server, 1), "\r\nAccept: application/json\r\n"));
    http_free(http);
    test_server_stop(server);
}

/* The parameters of a challenge: where the metadata are, and for what access to ask. */
static void challenge_names_metadata_and_scope(void **state)
{
    static const struct {
        const char *challenge;
        const char *line;  /* asked for after the server itself */
        const char *scope; /* NULL: none */
    } cases[] = {
        {CHALLENGE("resource_metadata=\"@/meta\", scope=\"a b\""), "GET /meta|", "\"a b\""},
        {CHALLENGE("SCOPE=a,Resource_Metadata=@/meta"), "GET /meta|", "\"a\""},
        {CHALLENGE("resource_metadata=@/meta scope=a"), "GET /meta|", "\"a\""},
        {CHALLENGE("\tscope=\"a\\\\b\",resource_metadata=@/meta"), "GET /meta|", "\"a\""},
        {CHALLENGE("my_scope=no, my-resource_metadata=@/no, resource_metadata=\"@/meta\""),
         "GET /meta|", "\"from the document\""},
        {CHALLENGE("error_description=\"no \\\" scope=no\", scope=a, resource_metadata=@/meta"),
         "GET /meta|", "\"a\""},
        {CHALLENGE("scopes=no, resource_metadata = no"),
         "GET /.well-known/oauth-protected-resource/a|", "\"from the document\""},
        {"401 Unauthorized", "GET /.well-known/oauth-protected-resource/a|",
         "\"from the document\""},
        {"403 Forbidden\r\nWWW-Authenticate: Bearer scope=no, resource_metadata=@/no",
         "GET /.well-known/oauth-protected-resource/a|", "\"from the document\""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct given given[] = {
            {cases[i].challenge, ""},
            {"200 OK", "{\"resource\":\"@/a\",\"scopes_supported\":[\"from\",7,\"the\","
                       "\"document\"]}"},
            METADATA("@"),
        };
        CLEANUP(outcome_done) struct outcome outcome = discover_at("/a", given, ARRAY_SIZE(given));
        CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;

        strbuf_appendf(&lines, "POST /a|%sGET /.well-known/oauth-authorization-server|",
                       cases[i].line);
        assert_string_equal(outcome.lines.text, lines.text);
        if (outcome.provider == NULL)
            fail_msg("%s: %s", cases[i].challenge, outcome.err.message);
        assert_json_at(outcome.provider, "scope", cases[i].scope);
    }
}

static void provider_has_what_the_metadata_say(void **state)
{
    static const struct given full[] = {
        {CHALLENGE(""), ""},
        {"200 OK", "{\"resource\":\"@/a\",\"authorization_servers\":[\"@/\",\"@/other\"]}"},
        {"200 OK",
         "{\"issuer\":\"@\",\"authorization_endpoint\":\"@/authorize\",\"token_endpoint\":"
         "\"@/token\",\"registration_endpoint\":\"@/register\","
         "\"code_challenge_methods_supported\":[\"S256\"],"
         "\"token_endpoint_auth_methods_supported\":[\"none\"],"
         "\"authorization_response_iss_parameter_supported\":true,"
         "\"client_id_metadata_document_supported\":true}"},
    };
    static const struct given least[] = {{"200 OK", ""}, NO, NO, METADATA("@/")};
    CLEANUP(outcome_done) struct outcome all = discover_at("/a", full, ARRAY_SIZE(full));
    CLEANUP(outcome_done) struct outcome little = discover_at("/a", least, ARRAY_SIZE(least));

    (void)state;
    assert_json_at(all.provider, "",
                   "{\"resource\":\"@/a\",\"authorization_endpoint\":\"@/authorize\","
                   "\"token_endpoint\":\"@/token\",\"issuer\":\"@\","
                   "\"registration_endpoint\":\"@/register\",\"auth_methods\":[\"none\"],"
                   "\"answers_with_issuer\":true,\"takes_metadata_urls\":true}");
    assert_json_at(little.provider, "",
                   "{\"resource\":\"@/a\",\"authorization_endpoint\":\"@/authorize\","
                   "\"token_endpoint\":\"@/token\",\"issuer\":\"@/\","
                   "\"answers_with_issuer\":false,\"takes_metadata_urls\":false}");
}

/* Which scopes are asked for if the sign-in server offers refresh tokens by a scope. */
static void scope_of_refresh_tokens_is_added_to_others(void **state)
{
    static const struct {
        const char *resource; /* its scopes */
        const char *issuer;
        const char *scope; /* NULL: none */
    } cases[] = {
        {"[\"a\"]", "[\"a\",\"offline_access\"]", "\"a offline_access\""},
        {"[\"offline_access\",\"a\"]", "[\"offline_access\"]", "\"offline_access a\""},
        {"[\"offline_access2\"]", "[\"offline_access\"]", "\"offline_access2 offline_access\""},
        {"[\"a\"]", "[\"a\",\"b\"]", "\"a\""},
        {"[]", "[\"offline_access\"]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf resource = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf issuer = STRBUF_INIT;
        struct given given[] = {{CHALLENGE(""), ""}, {"200 OK", NULL}, {"200 OK", NULL}};

        strbuf_appendf(&resource, "{\"resource\":\"@/a\",\"scopes_supported\":%s}",
                       cases[i].resource);
        strbuf_appendf(&issuer,
                       "{\"issuer\":\"@\",\"authorization_endpoint\":\"@/authorize\","
                       "\"token_endpoint\":\"@/token\",\"scopes_supported\":%s,"
                       "\"code_challenge_methods_supported\":[\"S256\"]}",
                       cases[i].issuer);
        given[1].body = resource.text;
        given[2].body = issuer.text;
        {
            CLEANUP(outcome_done) struct outcome outcome =
                discover_at("/a", given, ARRAY_SIZE(given));

            assert_json_at(outcome.provider, "scope", cases[i].scope);
        }
    }
}

/* What a server says that is not believed, and in which words. */
static void refused_metadata_are_named(void **state)
{
    static const struct {
        const char *resource;
        const char *metadata;
        const char *message; /* its beginning; "@" is the origin */
    } cases[] = {
        {"{\"resource\":\"https://b.example\"}", "{}",
         "The server's metadata belongs to another resource, https://b.example"},
        {"{}", "{\"issuer\":\"@/b\"}",
         "The sign-in server's metadata does not name @ as its issuer"},
        {"{}", "{\"issuer\":\"@//\"}",
         "The sign-in server's metadata does not name @ as its issuer"},
        {"{}", "{}", "The sign-in server's metadata does not name @ as its issuer"},
        {"{}", "{\"issuer\":\"@\",\"token_endpoint\":\"@/t\"}",
         "authorization_endpoint: Sign-in addresses must begin with https://"},
        {"{}", "{\"issuer\":\"@\",\"authorization_endpoint\":\"@/a\"}",
         "token_endpoint: Sign-in addresses must begin with https://"},
        {"{}",
         "{\"issuer\":\"@\",\"authorization_endpoint\":\"@/a\",\"token_endpoint\":\"@/t\","
         "\"code_challenge_methods_supported\":[\"s256\",7]}",
         "The sign-in server does not support PKCE with S256"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct given given[] = {
            {"200 OK", ""}, {"200 OK", cases[i].resource}, {"200 OK", cases[i].metadata}};
        CLEANUP(outcome_done) struct outcome outcome = discover_at("/a", given, ARRAY_SIZE(given));
        CLEANUP(mem_freep) char *message = without_origin(outcome.err.message, outcome.origin.text);

        assert_null(outcome.provider);
        assert_string_equal(message, cases[i].message);
        assert_int_equal(outcome.err.code, ERROR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_that_says_all_is_found),
        cmocka_unit_test(server_that_says_it_is_another_one_is_refused),
        cmocka_unit_test(server_may_name_itself_by_a_part_of_its_address),
        cmocka_unit_test(issuer_that_is_another_one_or_not_safe_is_refused),
        cmocka_unit_test(documents_are_looked_for_where_they_may_be),
        cmocka_unit_test(page_of_another_kind_is_no_document),
        cmocka_unit_test(server_is_asked_as_a_client_asks_first),
        cmocka_unit_test(challenge_names_metadata_and_scope),
        cmocka_unit_test(provider_has_what_the_metadata_say),
        cmocka_unit_test(scope_of_refresh_tokens_is_added_to_others),
        cmocka_unit_test(refused_metadata_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
