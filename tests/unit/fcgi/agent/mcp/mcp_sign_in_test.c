/*
 * Signing in at an MCP server, which is its own authorization server here, and the tokens after it.
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
#include "base/json.h"
#include "base/strbuf.h"
#include "client/mcp_site.h"
#include "client/oauth.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)
#define REDIRECT "/api/mcp/oauth/redirect"
#define REDIRECT_URI "http%3A%2F%2Flocalhost%3A3000%2Fapi%2Fmcp%2Foauth%2Fredirect"

/* A sign-in under way; the texts of the answer to its start. */
struct flow {
    char job[40];
    char state[80];
    struct strbuf page;
};

static struct test_answer start(void **state, struct site *site, const char *auth)
{
    char body[1500];

    (void)snprintf(body, sizeof(body),
                   "{\"server\":{\"type\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":\"oauth2\""
                   "%s}}}",
                   test_server_url(site->server, "/mcp"), auth);
    return test_dispatch(*state, ALICE, "POST", "/api/mcp/oauth/start", body);
}

/* Copies a parameter of a URL. */
static void take_parameter(const char *url, const char *name, char *out, size_t size)
{
    const char *at = strstr(url, name);

    assert_non_null(at);
    at += strlen(name);
    (void)snprintf(out, size, "%.*s", (int)strcspn(at, "&"), at);
}

static struct flow begin(void **state, struct site *site, const char *auth)
{
    CLEANUP(test_answer_done) struct test_answer answer = start(state, site, auth);
    json_auto_t *json = answer_json(&answer);
    struct flow flow = {.page = STRBUF_INIT};

    assert_int_equal(answer.status, 200);
    assert_json_at(answer.body.text, "ok", "true");
    (void)snprintf(flow.job, sizeof(flow.job), "%s", json_text_or(json, "job_id", ""));
    strbuf_append(&flow.page, json_text_or(json, "authorization_url", ""));
    take_parameter(flow.page.text, "&state=", flow.state, sizeof(flow.state));
    return flow;
}

/* A sign-in at a site that registers clients; its next answers are of the token endpoint. */
static struct flow begin_registered(void **state, struct site *site, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf metadata = STRBUF_INIT;

    strbuf_append(&metadata, SITE_REGISTERS);
    strbuf_append(&metadata, more);
    site_add_discovery(site, metadata.text);
    site_add(site, "201 Created", "{\"client_id\":\"c1\"}");
    return begin(state, site, "");
}

static struct test_answer status_of(void **state, const struct flow *flow, enum caller caller)
{
    char path[100];

    (void)snprintf(path, sizeof(path), "/api/mcp/oauth/status/%s", flow->job);
    return test_dispatch(*state, caller, "GET", path, NULL);
}

static struct test_answer come_back(void **state, const struct flow *flow, const char *more)
{
    char path[500];

    (void)snprintf(path, sizeof(path), REDIRECT "?state=%s%s", flow->state, more);
    return test_dispatch(*state, NOBODY, "GET", path, NULL);
}

static void flow_done(struct flow *flow)
{
    strbuf_done(&flow->page);
}

/* --- the way there --- */

static void user_is_led_to_the_page_of_the_sign_in_server(void **state)
{
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
    char challenge[80];
    char resource[120];

    take_parameter(flow.page.text, "code_challenge=", challenge, sizeof(challenge));
    take_parameter(flow.page.text, "resource=", resource, sizeof(resource));
    strbuf_appendf(&expected,
                   "%s?response_type=code&client_id=c1&redirect_uri=%s&state=%s"
                   "&code_challenge=%s&code_challenge_method=S256&resource=%s&scope=r%%20w",
                   test_server_url(site->server, "/authorize"), REDIRECT_URI, flow.state, challenge,
                   resource);
    assert_string_equal(flow.page.text, expected.text);
    assert_int_equal(strlen(challenge), 43);
    assert_non_null(strstr(resource, "%2Fmcp"));
    assert_int_equal(test_server_n_requests(site->server), 4);
    assert_asked(site->server, 3, "POST /register HTTP");
    assert_asked_json(
        site->server, 3, "",
        "{\"client_name\":\"deft\",\"redirect_uris\":[\"http://localhost:3000" REDIRECT
        "\"],\"grant_types\":[\"authorization_code\",\"refresh_token\"],"
        "\"response_types\":[\"code\"],\"token_endpoint_auth_method\":\"none\","
        "\"scope\":\"r w\"}");
    {
        CLEANUP(test_answer_done) struct test_answer own = status_of(state, &flow, ALICE);
        CLEANUP(test_answer_done) struct test_answer foreign = status_of(state, &flow, BOB);
        DISPATCH(malformed, ALICE, "GET", "/api/mcp/oauth/status/x", NULL);
        char page[1000];

        (void)snprintf(page, sizeof(page), "\"%s\"", flow.page.text);
        assert_json_at(own.body.text, "ok", "true");
        assert_json_at(own.body.text, "status", "\"pending\"");
        assert_json_at(own.body.text, "authorization_url", page);
        assert_json_at(own.body.text, "callback_ready", "true");
        assert_json_at(own.body.text, "tools", "null");
        assert_json_at(own.body.text, "tool_result", "null");
        assert_json_at(own.body.text, "error", "null");
        assert_json_at(own.body.text, "error_kind", "null");
        assert_json_at(own.body.text, "oauth_state", "null");
        assert_int_equal(foreign.status, 404);
        assert_answer_json(&malformed, 404,
                           "{\"detail\":\"There is no such sign-in, or it has ended\"}");
    }
    site_close(site);
}

static void client_is_what_the_user_entered(void **state)
{
    static const struct {
        const char *metadata;
        const char *authentication;
        const char *client_id;
        const char *scope; /* of the page; NULL: none */
    } rows[] = {
        {SITE_REGISTERS, "\"client_id\":\"mine\"", "client_id=mine&", "&scope=r%20w"},
        {"", "\"client_id\":\"mine\",\"scopes\":[\"x\",1,\"y\"]", "client_id=mine&",
         "&scope=x%20y"},
        {"", "\"client_id\":\"mine\",\"scopes\":\"a b\"", "client_id=mine&", "&scope=a%20b"},
        {SITE_REGISTERS ",\"client_id_metadata_document_supported\":true",
         "\"client_metadata_url\":\"https://me.example/c\"",
         "client_id=https%3A%2F%2Fme.example%2Fc&", "&scope=r%20w"},
        {",\"scopes_supported\":[\"offline_access\"]", "\"client_id\":\"mine\"", "client_id=mine&",
         "&scope=r%20w%20offline_access&prompt=consent"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct site *site = site_open();
        char auth[300];

        (void)snprintf(auth, sizeof(auth), ",\"authentication\":{%s}", rows[i].authentication);
        site_add_discovery(site, rows[i].metadata);
        {
            CLEANUP(flow_done) struct flow flow = begin(state, site, auth);

            assert_non_null(strstr(flow.page.text, rows[i].client_id));
            assert_non_null(strstr(flow.page.text, rows[i].scope));
        }
        assert_int_equal(test_server_n_requests(site->server), SITE_N_DISCOVERY);
        site_close(site);
    }
}

static void page_that_has_a_query_gets_more_of_it(void **state)
{
    struct site *site = site_open();

    site_add(site, "401 Unauthorized", "{}");
    site_add(site, "200 OK", "{\"resource\":\"%U/mcp\",\"authorization_servers\":[\"%U\"]}");
    site_add(site, "200 OK",
             "{\"issuer\":\"%U\",\"authorization_endpoint\":\"%U/a?tenant=1\",\"token_endpoint\":"
             "\"%U/t\",\"code_challenge_methods_supported\":[\"S256\"]}");
    {
        CLEANUP(flow_done) struct flow flow =
            begin(state, site, ",\"authentication\":{\"client_id\":\"mine\"}");

        assert_non_null(strstr(flow.page.text, "/a?tenant=1&response_type=code&"));
        assert_null(strstr(flow.page.text, "scope="));
    }
    site_close(site);
}

static void registration_says_what_the_user_entered(void **state)
{
    struct site *site = site_open();

    site_add_discovery(site, SITE_REGISTERS ",\"token_endpoint_auth_methods_supported\":["
                                            "\"client_secret_basic\"]");
    site_add(site, "201 Created", "{\"client_id\":\"c1\"}");
    {
        CLEANUP(flow_done) struct flow flow =
            begin(state, site,
                  ",\"authentication\":{\"client_name\":\"Mine\",\"scopes\":[\"x\"],"
                  "\"client_auth_method\":\"client_secret_post\","
                  "\"client_metadata_url\":\"https://me.example/c\","
                  "\"additional_client_metadata\":{\"logo_uri\":\"l\",\"scope\":\"no\"}}");

        assert_non_null(strstr(flow.page.text, "client_id=c1&"));
    }
    assert_asked_json(site->server, 3, "client_name", "\"Mine\"");
    assert_asked_json(site->server, 3, "scope", "\"x\"");
    assert_asked_json(site->server, 3, "logo_uri", "\"l\"");
    assert_asked_json(site->server, 3, "token_endpoint_auth_method", "\"client_secret_post\"");
    site_close(site);
}

static void starts_that_cannot_be_say_why(void **state)
{
#define FAILURE(text, kind) "{\"ok\":false,\"error\":\"" text "\",\"error_kind\":\"" kind "\"}"
    static const struct {
        const char *metadata;
        const char *auth;
        const char *answer;
    } rows[] = {
        {SITE_REGISTERS, ",\"authentication\":{\"client_auth_method\":\"private_key_jwt\"}",
         FAILURE("Signing in with private_key_jwt is not supported", "unknown")},
        {"", "",
         FAILURE("The sign-in server does not support dynamic registration: give a registered "
                 "client_id with the redirect URI http://localhost:3000" REDIRECT,
                 "unknown")},
        {"", ",\"authentication\":{\"client_metadata_url\":\"https://me.example/c\"}",
         FAILURE("The sign-in server does not support dynamic registration: give a registered "
                 "client_id with the redirect URI http://localhost:3000" REDIRECT,
                 "unknown")},
        {SITE_REGISTERS, "",
         FAILURE("The sign-in server refused to register this client (HTTP 400): no", "unknown")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct site *site = site_open();

        site_add_discovery(site, rows[i].metadata);
        site_add(site, "400 Bad Request", "{\"error\":\"no\"}");
        {
            CLEANUP(test_answer_done) struct test_answer answer = start(state, site, rows[i].auth);
            assert_answer_json(&answer, 200, rows[i].answer);
        }
        site_close(site);
    }
    {
        DISPATCH(program, ALICE, "POST", "/api/mcp/oauth/start",
                 "{\"server\":{\"command\":\"run\"}}");
        assert_answer_json(&program, 200,
                           FAILURE("Only a server with a URL supports signing in", "unknown"));
    }
}

/* --- the way back --- */

static void code_is_exchanged_and_the_server_tried(void **state)
{
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
    CLEANUP(strbuf_done) struct strbuf challenge = STRBUF_INIT;
    char verifier[80];
    char said[80];

    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer back =
            come_back(state, &flow, "&code=the%20code");
        CLEANUP(test_answer_done) struct test_answer again = come_back(state, &flow, "&code=x");

        assert_answer(&back, 200, "You are signed in. You can close this window.\n");
        assert_non_null(strstr(back.head.text, "Referrer-Policy: no-referrer\r\n"));
        assert_int_equal(again.status, 400);
    }
    assert_int_equal(test_server_n_requests(site->server), 8);
    assert_asked(site->server, 4, "POST /token HTTP");
    assert_asked(site->server, 4,
                 "\r\n\r\ngrant_type=authorization_code&code=the%20code&redirect_uri=" REDIRECT_URI
                 "&code_verifier=");
    assert_asked(site->server, 4, "%2Fmcp&client_id=c1");
    take_parameter(test_asked_body(site->server, 4), "code_verifier=", verifier, sizeof(verifier));
    take_parameter(flow.page.text, "code_challenge=", said, sizeof(said));
    oauth_append_challenge(&challenge, verifier);
    assert_string_equal(said, challenge.text);
    for (size_t i = 5; i < 8; i++)
        assert_asked(site->server, i, "Authorization: Bearer the-access\r\n");
    {
        CLEANUP(test_answer_done) struct test_answer answer = status_of(state, &flow, ALICE);

        assert_json_at(answer.body.text, "ok", "true");
        assert_json_at(answer.body.text, "status", "\"succeeded\"");
        assert_json_at(answer.body.text, "authorization_url", "null");
        assert_json_at(answer.body.text, "callback_ready", "false");
        assert_json_at(answer.body.text, "tools", "[\"a\"]");
        assert_json_at(answer.body.text, "oauth_state.client_info.client_id", "\"c1\"");
        assert_json_at(answer.body.text, "oauth_state.tokens.expires_in", "3600");
        assert_null(strstr(answer.body.text, "the-access"));
        assert_null(strstr(answer.body.text, "the-refresh"));
    }
    site_close(site);
}

/* A client keeps what it got, and sends it again. */
static void sealed_tokens_are_opened_when_they_come_back(void **state)
{
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer back = come_back(state, &flow, "&code=c");
        CLEANUP(test_answer_done) struct test_answer answer = status_of(state, &flow, ALICE);
        json_auto_t *json = answer_json(&answer);

        strbuf_appendf(&body,
                       "{\"server\":{\"type\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":"
                       "\"oauth2\",\"state\":",
                       test_server_url(site->server, "/mcp"));
        json_append_text(&body, json_object_get(json, "oauth_state"));
        strbuf_append(&body, "}}}");
    }
    {
        DISPATCH(tested, ALICE, "POST", "/api/mcp/test", body.text);
        assert_answer_json(&tested, 200, "{\"ok\":true,\"tools\":[\"a\"],\"tool_result\":null}");
    }
    assert_int_equal(test_server_n_requests(site->server), 11);
    assert_asked(site->server, 8, "Authorization: Bearer the-access\r\n");
    site_close(site);
}

static struct test_answer call_back(void **state, const struct flow *flow, const char *body)
{
    char path[100];

    (void)snprintf(path, sizeof(path), "/api/mcp/oauth/callback/%s", flow->job);
    return test_dispatch(*state, ALICE, "POST", path, body);
}

static void address_of_the_redirect_may_be_pasted(void **state)
{
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
    char body[300];

    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer missing = call_back(state, &flow, "{}");
        CLEANUP(test_answer_done) struct test_answer other = call_back(
            state, &flow, "{\"callback_url\":\"http://localhost" REDIRECT "?state=x&code=c\"}");
        CLEANUP(test_answer_done) struct test_answer none =
            call_back(state, &flow, "{\"callback_url\":\"\"}");
        CLEANUP(test_answer_done) struct test_answer status = status_of(state, &flow, ALICE);

        assert_int_equal(missing.status, 422);
        assert_json_at(missing.body.text, "detail[0].loc", "[\"body\",\"callback_url\"]");
        assert_answer_json(&other, 422, "{\"detail\":\"callback_url belongs to another sign-in\"}");
        assert_answer_json(&none, 422, other.body.text);
        assert_json_at(status.body.text, "status", "\"pending\"");
    }
    (void)snprintf(body, sizeof(body),
                   "{\"callback_url\":\"http://localhost" REDIRECT "?code=c&state=%s#x\"}",
                   flow.state);
    {
        CLEANUP(test_answer_done) struct test_answer done = call_back(state, &flow, body);

        assert_int_equal(done.status, 200);
        assert_json_at(done.body.text, "status", "\"succeeded\"");
        assert_json_at(done.body.text, "tools", "[\"a\"]");
    }
    site_close(site);
}

static void failed_sign_ins_say_why(void **state)
{
    static const struct {
        const char *metadata;
        const char *back;
        const char *error; /* NULL: it succeeds */
    } rows[] = {
        {"", "&error=access_denied", "\"The sign-in server says: access_denied\""},
        {"", "", "\"The sign-in server says: nothing\""},
        {"", "&code=&error=e", "\"The sign-in server says: e\""},
        {"", "&code=c&iss=https%3A%2F%2Fother",
         "\"The response comes from another sign-in server\""},
        {",\"authorization_response_iss_parameter_supported\":true", "&code=c",
         "\"The response comes from another sign-in server\""},
        {",\"authorization_response_iss_parameter_supported\":true", "&code=c&iss=%U", NULL},
        {"", "&code=c&iss=%U", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct site *site = site_open();
        CLEANUP(flow_done) struct flow flow = begin_registered(state, site, rows[i].metadata);
        const char *mark = strstr(rows[i].back, "%U");
        char back[200];

        (void)snprintf(back, sizeof(back), "%.*s%s",
                       mark != NULL ? (int)(mark - rows[i].back) : (int)strlen(rows[i].back),
                       rows[i].back, mark != NULL ? test_server_url(site->server, "") : "");
        site_add(site, "200 OK", SITE_TOKENS);
        site_add_tools(site);
        {
            CLEANUP(test_answer_done) struct test_answer page = come_back(state, &flow, back);
            CLEANUP(test_answer_done) struct test_answer status = status_of(state, &flow, ALICE);

            assert_int_equal(page.status, rows[i].error == NULL ? 200 : 400);
            assert_json_at(status.body.text, "status",
                           rows[i].error == NULL ? "\"succeeded\"" : "\"failed\"");
            assert_json_at(status.body.text, "ok", rows[i].error == NULL ? "true" : "false");
            assert_json_at(status.body.text, "error",
                           rows[i].error == NULL ? "null" : rows[i].error);
            assert_json_at(status.body.text, "callback_ready", "false");
            if (rows[i].error != NULL) {
                assert_answer_json(&page, 400,
                                   "{\"detail\":\"Signing in failed. The page on which you started "
                                   "shows the reason.\"}");
                assert_json_at(status.body.text, "oauth_state", "null");
                assert_json_at(status.body.text, "error_kind", "\"unknown\"");
                assert_int_equal(test_server_n_requests(site->server), 4);
            }
        }
        site_close(site);
    }
}

static void token_that_the_server_refuses_is_not_kept(void **state)
{
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");

    site_add(site, "200 OK", SITE_TOKENS);
    site_add(site, "403 Forbidden", "{}");
    {
        CLEANUP(test_answer_done) struct test_answer back = come_back(state, &flow, "&code=c");
        CLEANUP(test_answer_done) struct test_answer status = status_of(state, &flow, ALICE);

        assert_int_equal(back.status, 400);
        assert_json_at(status.body.text, "status", "\"failed\"");
        assert_json_at(status.body.text, "error",
                       "\"The server refused the request with HTTP status 403\"");
        assert_json_at(status.body.text, "oauth_state", "null");
    }
    site_close(site);
}

/* --- how it goes --- */

static void change_row(const struct flow *flow, const char *status, int age_s)
{
    char sql[200];

    (void)snprintf(sql, sizeof(sql),
                   "UPDATE mcp_sign_ins SET status = '%s', changed_at = now() - interval"
                   " '%d seconds' WHERE id = '%s'",
                   status, age_s, flow->job);
    test_sql(sql);
}

static void sign_in_that_takes_too_long_has_failed(void **state)
{
    static const struct {
        const char *status;
        int age_s;
        const char *shown;
        const char *error;
    } rows[] = {
        {"pending", 870, "\"pending\"", "null"},
        {"pending", 901, "\"failed\"", "\"Signing in timed out\""},
        {"authorizing", 30, "\"authorizing\"", "null"},
        {"authorizing", 61, "\"failed\"", "\"Signing in was interrupted; start again\""},
        {"succeeded", 9000, "\"succeeded\"", "null"},
    };
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool has_failed = strcmp(rows[i].shown, "\"failed\"") == 0;

        change_row(&flow, rows[i].status, rows[i].age_s);
        {
            CLEANUP(test_answer_done) struct test_answer answer = status_of(state, &flow, ALICE);

            assert_json_at(answer.body.text, "status", rows[i].shown);
            assert_json_at(answer.body.text, "error", rows[i].error);
            assert_json_at(answer.body.text, "error_kind", has_failed ? "\"timeout\"" : "null");
            assert_json_at(answer.body.text, "ok", has_failed ? "false" : "true");
            assert_json_at(answer.body.text, "callback_ready", i == 0 ? "true" : "false");
        }
    }
    site_close(site);
}

/* The cookie of a browser that is signed in as the owner of the instance. */
static void sign_in_browser(void **state, char cookie_out[160])
{
    struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf token = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    const char *params[] = {"DEFT_ORIGIN=app", NULL};
    struct error err = ERROR_INIT;

    assert_int_equal(
        credential_new_link(fixture->context.db, &fixture->context.keyring, &token, &err), 0);
    strbuf_appendf(&body, "{\"token\":\"%s\"}", token.text);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "POST", "/api/v1/sign-in", body.text);
        char value[120];

        take_parameter(answer.head.text, "deft_session=", value, sizeof(value));
        (void)snprintf(cookie_out, 160, "HTTP_COOKIE=deft_session=%.*s", (int)strcspn(value, ";"),
                       value);
    }
}

static void browser_of_another_user_ends_the_sign_in(void **state)
{
    static const char *const origins[] = {"DEFT_ORIGIN=app", "DEFT_ORIGIN=agent"};
    char cookie[160];

    sign_in_browser(state, cookie);
    for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
        struct site *site = site_open();
        CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
        const char *params[] = {origins[i], cookie, NULL};
        char path[300];

        site_add(site, "200 OK", SITE_TOKENS);
        site_add_tools(site);
        (void)snprintf(path, sizeof(path), REDIRECT "?code=c&state=%s", flow.state);
        {
            CLEANUP(test_answer_done) struct test_answer back =
                test_dispatch_with(*state, params, "GET", path, NULL);
            CLEANUP(test_answer_done) struct test_answer status = status_of(state, &flow, ALICE);

            /* A cookie counts on the app origin only. */
            assert_int_equal(back.status, i == 0 ? 400 : 200);
            assert_json_at(status.body.text, "error",
                           i == 0 ? "\"The browser is signed in as another user\"" : "null");
            assert_json_at(status.body.text, "error_kind", i == 0 ? "\"connection\"" : "null");
        }
        assert_int_equal(test_server_n_requests(site->server), i == 0 ? 4 : 8);
        site_close(site);
    }
}

static void browser_of_the_same_user_may_come_back(void **state)
{
    const struct fixture *fixture = *state;
    struct site *site = site_open();
    CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");
    char cookie[160];
    char sql[200];
    char path[300];
    const char *params[] = {"DEFT_ORIGIN=app", cookie, NULL};

    sign_in_browser(state, cookie);
    (void)snprintf(sql, sizeof(sql), "UPDATE sessions SET user_id = '%s'", fixture->alice.text);
    test_sql(sql);
    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    (void)snprintf(path, sizeof(path), REDIRECT "?code=c&state=%s", flow.state);
    {
        CLEANUP(test_answer_done) struct test_answer back =
            test_dispatch_with(*state, params, "GET", path, NULL);
        assert_int_equal(back.status, 200);
    }
    test_sql("DELETE FROM sessions");
    site_close(site);
}

static void sign_in_takes_slots_and_gives_them_back(void **state)
{
    struct site *site = site_open();
    size_t n = test_take_waits(*state);

    {
        CLEANUP(test_answer_done) struct test_answer full = start(state, site, "");
        assert_answer_json(&full, 200,
                           FAILURE("too many requests are already waiting", "connection"));
    }
    assert_int_equal(test_server_n_requests(site->server), 0);
    test_give_waits(*state, n);
    {
        CLEANUP(flow_done) struct flow flow = begin_registered(state, site, "");

        assert_int_equal(test_take_waits(*state), n);
        {
            CLEANUP(test_answer_done) struct test_answer full = come_back(state, &flow, "&code=c");
            assert_int_equal(full.status, 400);
        }
        test_give_waits(*state, n);
    }
    site_add(site, "200 OK", SITE_TOKENS);
    assert_int_equal(test_server_n_requests(site->server), 4);
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    site_close(site);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_is_led_to_the_page_of_the_sign_in_server),
        cmocka_unit_test(client_is_what_the_user_entered),
        cmocka_unit_test(page_that_has_a_query_gets_more_of_it),
        cmocka_unit_test(registration_says_what_the_user_entered),
        cmocka_unit_test(starts_that_cannot_be_say_why),
        cmocka_unit_test(code_is_exchanged_and_the_server_tried),
        cmocka_unit_test(sealed_tokens_are_opened_when_they_come_back),
        cmocka_unit_test(address_of_the_redirect_may_be_pasted),
        cmocka_unit_test(failed_sign_ins_say_why),
        cmocka_unit_test(token_that_the_server_refuses_is_not_kept),
        cmocka_unit_test(sign_in_that_takes_too_long_has_failed),
        cmocka_unit_test(browser_of_another_user_ends_the_sign_in),
        cmocka_unit_test(browser_of_the_same_user_may_come_back),
        cmocka_unit_test(sign_in_takes_slots_and_gives_them_back),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
