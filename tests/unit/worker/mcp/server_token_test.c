/*
 * Access tokens of MCP servers in a run: renewed when they expire or are refused, once for all who
 * hold them.
 */
#include "worker/agent/mcp/server_token.h"

#include <string.h>

#include <jansson.h>

#include "base/json.h"
#include "client/mcp_site.h"
#include "support/sql.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/mcp/called.h"
#include "worker/mcp/mcp_test.h"

#define PAST "1"
#define NEVER "null"
#define NEWER_TOKENS "{\"access_token\":\"second-access\",\"refresh_token\":\"second-refresh\"}"
#define TOOL_RESULT(id, text)                                                                      \
    "{\"id\":" id ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"

/* A call of a server that its user has signed in at; its tokens were never renewed. */
struct signed_in {
    struct called called;
    struct site *site;
};

/* ends_at: when the access token expires, as JSON. */
static void use_old_tokens(struct signed_in *test, const char *ends_at)
{
    CLEANUP(strbuf_done) struct strbuf config = STRBUF_INIT;

    strbuf_appendf(&config,
                   "{\"one\": {\"url\": \"%s\", \"auth\": {\"strategy\": \"oauth2\", \"state\":"
                   " {\"tokens\": {\"access_token\": \"old-access\", \"refresh_token\":"
                   " \"old-refresh\"}, \"client_info\": {\"client_id\": \"c1\"},"
                   " \"token_expires_at\": %s}}}}",
                   test_server_url(test->site->server, "/mcp"), ends_at);
    called_configure(&test->called, config.text);
    server_connections_free(test->called.claimed.agent.servers);
    test->called.claimed.agent.servers = NULL;
}

static void begin(struct signed_in *test, void **state, const char *ends_at)
{
    test_sql("DELETE FROM mcp_grants");
    test->site = site_open();
    called_begin(&test->called, state, NULL, 0);
    test->called.tool.annotations.is_idempotent = true;
    use_old_tokens(test, ends_at);
}

static void end(struct signed_in *test)
{
    called_end(&test->called);
    site_close(test->site);
}

static void add_renewal(struct signed_in *test, const char *tokens)
{
    site_add_discovery(test->site, "");
    site_add(test->site, "200 OK", tokens);
}

static void add_greeting(struct signed_in *test)
{
    site_add(test->site, "200 OK\r\nMcp-Session-Id: s", "{\"id\":1,\"result\":{}}");
    site_add(test->site, "202 Accepted", "");
}

static void assert_request(const struct signed_in *test, size_t i, const char *part)
{
    const char *request = test_server_request(test->site->server, i);

    if (strstr(request, part) == NULL)
        fail_msg("request %zu has no %s: %s", i, part, request);
}

static size_t n_renewals(const struct signed_in *test)
{
    size_t n = 0;

    for (size_t i = 0; i < test_server_n_requests(test->site->server); i++)
        n += strstr(test_server_request(test->site->server, i), "POST /token HTTP") != NULL;
    return n;
}

static void an_expired_token_is_renewed_before_the_talk(void **state)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;
    struct signed_in test;

    begin(&test, state, PAST);
    add_renewal(&test, SITE_TOKENS);
    add_greeting(&test);
    site_add(test.site, "200 OK", TOOL_RESULT("2", "done"));
    called_run(&test.called);
    called_assert_text(&test.called, "done");
    assert_request(&test, 3, "grant_type=refresh_token&refresh_token=old-refresh&resource=");
    assert_request(&test, 4, "Authorization: Bearer the-access\r\n");
    assert_request(&test, 6, "Authorization: Bearer the-access\r\n");
    secret_list_mask_text(&test.called.claimed.agent.secrets, "the-access, the-refresh", &masked);
    assert_string_equal(masked.text, "<secret-hidden>, <secret-hidden>");
    assert_null(test.called.claimed.control.cancel);
    end(&test);
}

/* An open session goes on with the new token. */
static void a_token_that_expires_in_a_session_is_renewed_in_it(void **state)
{
    struct signed_in test;
    struct server_connection *connection = NULL;

    begin(&test, state, NEVER);
    add_greeting(&test);
    site_add(test.site, "200 OK", TOOL_RESULT("2", "done"));
    add_renewal(&test, SITE_TOKENS);
    site_add(test.site, "200 OK", TOOL_RESULT("3", "more"));
    called_run(&test.called);
    connection = server_connections_find(test.called.claimed.agent.servers, "one");
    json_put(json_object_get(json_object_get(connection->server, "auth"), "state"),
             "token_expires_at", json_integer(1));
    called_run(&test.called);
    called_assert_text(&test.called, "more");
    assert_request(&test, 7, "Authorization: Bearer the-access\r\n");
    assert_request(&test, 7, "Mcp-Session-Id: s\r\n");
    end(&test);
}

static void a_refused_token_is_renewed_and_the_call_made_again_once(void **state)
{
    struct signed_in test;

    begin(&test, state, NEVER);
    site_add(test.site, "401 Unauthorized", "{}");
    add_renewal(&test, SITE_TOKENS);
    add_greeting(&test);
    site_add(test.site, "401 Unauthorized", "{}");
    called_run(&test.called);
    assert_int_equal(test.called.rc, 0);
    assert_string_equal(
        test.called.problem.text,
        "The MCP server 'one' failed: The server refused the request with HTTP status 401");
    assert_int_equal(n_renewals(&test), 1);
    end(&test);
}

static void a_token_that_is_refused_in_a_session_is_replaced_in_it(void **state)
{
    struct signed_in test;

    begin(&test, state, NEVER);
    add_greeting(&test);
    site_add(test.site, "200 OK", TOOL_RESULT("2", "done"));
    site_add(test.site, "401 Unauthorized", "{}");
    add_renewal(&test, SITE_TOKENS);
    site_add(test.site, "200 OK", TOOL_RESULT("4", "more"));
    called_run(&test.called);
    called_run(&test.called);
    called_assert_text(&test.called, "more");
    assert_request(&test, 8, "Mcp-Session-Id: s\r\n");
    assert_request(&test, 8, "Authorization: Bearer the-access\r\n");
    end(&test);
}

/* Another run, or another worker, has the same tokens. */
static void tokens_are_renewed_once_for_all_who_hold_them(void **state)
{
    struct signed_in test;

    begin(&test, state, PAST);
    add_renewal(&test, SITE_TOKENS);
    for (int i = 0; i < 2; i++) {
        add_greeting(&test);
        site_add(test.site, "200 OK", TOOL_RESULT("2", "done"));
    }
    called_run(&test.called);
    use_old_tokens(&test, PAST);
    called_run(&test.called);
    called_assert_text(&test.called, "done");
    assert_int_equal(n_renewals(&test), 1);
    assert_request(&test, 7, "Authorization: Bearer the-access\r\n");
    end(&test);
}

/* The new token was revoked, too: the newest refresh token is used, not that of the holder. */
static void the_newest_refresh_token_is_used(void **state)
{
    struct signed_in test;

    begin(&test, state, PAST);
    add_renewal(&test, SITE_TOKENS);
    site_add(test.site, "401 Unauthorized", "{}");
    add_renewal(&test, NEWER_TOKENS);
    add_greeting(&test);
    site_add(test.site, "200 OK", TOOL_RESULT("2", "done"));
    called_run(&test.called);
    called_assert_text(&test.called, "done");
    assert_request(&test, 8, "refresh_token=the-refresh&");
    assert_request(&test, 9, "Authorization: Bearer second-access\r\n");
    end(&test);
}

static void a_refusal_says_to_sign_in_again(void **state)
{
    struct signed_in test;

    begin(&test, state, PAST);
    site_add_discovery(test.site, "");
    site_add(test.site, "400 Bad Request", "{\"error\":\"invalid_grant\"}");
    called_run(&test.called);
    assert_int_equal(test.called.rc, 0);
    assert_string_equal(test.called.problem.text,
                        "The MCP server 'one' failed: Sign in to this server again: The sign-in"
                        " server refused to issue tokens (HTTP 400): invalid_grant");
    assert_int_equal(test_sql_count("SELECT count(*) FROM mcp_grants"), 0);
    end(&test);
}

static void without_a_refresh_token_the_user_must_sign_in(void **state)
{
    struct signed_in test;
    json_t *server = NULL;

    begin(&test, state, PAST);
    server = json_object_get(
        json_object_get(json_object_get(test.called.claimed.agent.conversation.spec, "agent"),
                        "mcp_config"),
        "one");
    json_put_text(
        json_object_get(json_object_get(json_object_get(server, "auth"), "state"), "tokens"),
        "refresh_token", "");
    site_add(test.site, "401 Unauthorized", "{}");
    called_run(&test.called);
    assert_string_equal(test.called.problem.text,
                        "The MCP server 'one' failed: Sign in to this server again: it does not"
                        " accept the access token");
    assert_int_equal(test_server_n_requests(test.site->server), 1);
    end(&test);
}

static void a_stop_ends_a_renewal(void **state)
{
    struct server_connection *connection = NULL;
    struct error err = ERROR_INIT;
    struct signed_in test;

    begin(&test, state, PAST);
    connection = server_connections_find(server_connections_of(&test.called.claimed.agent), "one");
    cancel_set(&connection->cancel);
    assert_int_equal(server_token_settle(connection, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(n_renewals(&test), 0);
    end(&test);
}

int server_token_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expired_token_is_renewed_before_the_talk),
        cmocka_unit_test(a_token_that_expires_in_a_session_is_renewed_in_it),
        cmocka_unit_test(a_refused_token_is_renewed_and_the_call_made_again_once),
        cmocka_unit_test(a_token_that_is_refused_in_a_session_is_replaced_in_it),
        cmocka_unit_test(tokens_are_renewed_once_for_all_who_hold_them),
        cmocka_unit_test(the_newest_refresh_token_is_used),
        cmocka_unit_test(a_refusal_says_to_sign_in_again),
        cmocka_unit_test(without_a_refresh_token_the_user_must_sign_in),
        cmocka_unit_test(a_stop_ends_a_renewal),
    };

    return cmocka_run_group_tests_name("worker/server_token", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
