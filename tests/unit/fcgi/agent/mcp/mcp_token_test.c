/*
 * Tokens of MCP servers that have expired are renewed before a test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/mcp_site.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

#define DISPATCH(name, ...)                                                                        \
    CLEANUP(test_answer_done) struct test_answer name = test_dispatch(*state, __VA_ARGS__)

#define OLD_TOKENS "{\"access_token\":\"old-access\",\"refresh_token\":\"old-refresh\"}"
#define CLIENT ",\"client_info\":{\"client_id\":\"c1\"}"
#define FAILURE(text, kind) "{\"ok\":false,\"error\":\"" text "\",\"error_kind\":\"" kind "\"}"

/* A server whose tokens, which all tests have in common, were never renewed. */
static struct site *new_site(void)
{
    test_sql("DELETE FROM mcp_grants");
    return site_open();
}

/* Seconds since 1970 that many seconds from now. */
static double in_s(double seconds)
{
    return (double)clock_utc_us() / 1e6 + seconds;
}

/* "{…}": a server whose tokens expire then; members of its state in addition to the tokens. */
static void append_server(struct strbuf *out, struct site *site, const char *type_name,
                          double end_s, const char *more)
{
    strbuf_appendf(out,
                   "{\"%s\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":\"oauth2\","
                   "\"state\":{\"tokens\":" OLD_TOKENS ",\"token_expires_at\":%.3f%s}}}",
                   type_name, test_server_url(site->server, "/mcp"), end_s, more);
}

static struct test_answer test_it(void **state, struct site *site, double end_s, const char *more)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    strbuf_append(&body, "{\"server\":");
    append_server(&body, site, "type", end_s, more);
    strbuf_append(&body, "}");
    return test_dispatch(*state, ALICE, "POST", "/api/mcp/test", body.text);
}

static void token_is_renewed_a_minute_before_its_end(void **state)
{
    static const double ends_s[] = {-1000, 50};

    for (size_t i = 0; i < ARRAY_SIZE(ends_s); i++) {
        struct site *site = new_site();

        site_add_discovery(site, "");
        site_add(site, "200 OK", SITE_TOKENS);
        site_add_tools(site);
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_it(state, site, in_s(ends_s[i]), CLIENT);
            json_auto_t *json = answer_json(&answer);
            double end_s =
                json_number_or(json_object_get(json, "oauth_state"), "token_expires_at", 0);

            assert_json_at(answer.body.text, "ok", "true");
            assert_json_at(answer.body.text, "tools", "[\"a\"]");
            assert_json_at(answer.body.text, "oauth_state.client_info", "{\"client_id\":\"c1\"}");
            assert_null(strstr(answer.body.text, "the-access"));
            assert_true(end_s > in_s(3000) && end_s < in_s(3601));
        }
        assert_int_equal(test_server_n_requests(site->server), 7);
        assert_asked(site->server, 3, "POST /token HTTP");
        assert_asked(site->server, 3,
                     "\r\n\r\ngrant_type=refresh_token&refresh_token=old-refresh&resource=");
        assert_asked(site->server, 3, "&client_id=c1");
        assert_asked(site->server, 4, "Authorization: Bearer the-access\r\n");
        site_close(site);
    }
}

static void token_that_lives_on_is_used(void **state)
{
    double ends_s[] = {in_s(90), 0};

    for (size_t i = 0; i < ARRAY_SIZE(ends_s); i++) {
        struct site *site = new_site();

        site_add_tools(site);
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_it(state, site, ends_s[i], CLIENT);

            assert_answer_json(&answer, 200,
                               "{\"ok\":true,\"tools\":[\"a\"],\"tool_result\":null}");
        }
        assert_asked(site->server, 0, "Authorization: Bearer old-access\r\n");
        site_close(site);
    }
}

static void without_a_refresh_token_the_old_one_is_tried(void **state)
{
    struct site *site = new_site();
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    site_add_tools(site);
    strbuf_appendf(&body,
                   "{\"server\":{\"type\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":"
                   "\"oauth2\",\"state\":{\"tokens\":{\"access_token\":\"old-access\"},"
                   "\"token_expires_at\":1}}}}",
                   test_server_url(site->server, "/mcp"));
    {
        DISPATCH(answer, ALICE, "POST", "/api/mcp/test", body.text);
        assert_json_at(answer.body.text, "ok", "true");
    }
    assert_asked(site->server, 0, "Authorization: Bearer old-access\r\n");
    site_close(site);
}

static void refresh_token_stays_unless_there_is_a_new_one(void **state)
{
    struct site *site = new_site();
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    site_add_discovery(site, "");
    site_add(site, "200 OK", "{\"access_token\":\"short\",\"expires_in\":1}");
    site_add_tools(site);
    site_add_discovery(site, "");
    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_it(state, site, in_s(-1), CLIENT);
        json_auto_t *json = answer_json(&answer);

        strbuf_appendf(&body,
                       "{\"server\":{\"type\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":"
                       "\"oauth2\",\"state\":",
                       test_server_url(site->server, "/mcp"));
        json_append_text(&body, json_object_get(json, "oauth_state"));
        strbuf_append(&body, "}}}");
    }
    {
        DISPATCH(answer, ALICE, "POST", "/api/mcp/test", body.text);
        assert_json_at(answer.body.text, "ok", "true");
    }
    assert_asked(site->server, 10, "grant_type=refresh_token&refresh_token=old-refresh&");
    site_close(site);
}

/* A client that still has the old tokens: another request, or a run, has renewed them. */
static void tokens_that_were_renewed_are_not_renewed_again(void **state)
{
    struct site *site = new_site();

    site_add_discovery(site, "");
    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    site_add_tools(site);
    for (int i = 0; i < 2; i++) {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_it(state, site, in_s(-1), CLIENT);

        assert_json_at(answer.body.text, "ok", "true");
        assert_json_at(answer.body.text, "oauth_state.client_info", "{\"client_id\":\"c1\"}");
    }
    assert_int_equal(test_server_n_requests(site->server), 10);
    assert_asked(site->server, 7, "Authorization: Bearer the-access\r\n");
    site_close(site);
}

static void renewals_that_fail_say_why(void **state)
{
    static const struct {
        const char *more;
        const char *status;
        const char *answer;
    } rows[] = {
        {"", "200 OK", FAILURE("No user has signed in to this server yet", "unknown")},
        {",\"client_info\":1", "200 OK",
         FAILURE("No user has signed in to this server yet", "unknown")},
        {CLIENT, "400 Bad Request",
         FAILURE("Sign in to this server again: The sign-in server refused to "
                 "issue tokens (HTTP 400): gone",
                 "unknown")},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct site *site = new_site();

        site_add_discovery(site, "");
        site_add(site, rows[i].status, "{\"error\":\"gone\"}");
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_it(state, site, in_s(-1), rows[i].more);
            assert_answer_json(&answer, 200, rows[i].answer);
        }
        site_close(site);
    }
}

static void a_renewal_takes_a_slot_and_gives_it_back(void **state)
{
    struct site *site = new_site();
    size_t n = test_take_waits(*state);

    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_it(state, site, in_s(-1), CLIENT);
        assert_answer_json(&answer, 200,
                           FAILURE("too many requests are already waiting", "connection"));
    }
    assert_int_equal(test_server_n_requests(site->server), 0);
    test_give_waits(*state, n);
    site_add_discovery(site, "");
    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_it(state, site, in_s(-1), CLIENT);
        assert_json_at(answer.body.text, "ok", "true");
    }
    assert_int_equal(test_take_waits(*state), n);
    test_give_waits(*state, n);
    site_close(site);
}

/* --- what the settings hold --- */

static void keep(void **state, const char *name, const char *server)
{
    char path[60];

    (void)snprintf(path, sizeof(path), "/api/settings/mcp/%s", name);
    {
        DISPATCH(added, ALICE, "POST", path, server);

        if (added.status != 201)
            fail_msg("%d %s", added.status, added.body.text);
    }
}

/* The refresh token of a server in the settings. */
static void assert_kept(void **state, const char *name, const char *expected)
{
    const struct fixture *fixture = *state;
    char key[128];
    char path[120];
    const char *params[] = {"DEFT_ORIGIN=agent", key, "HTTP_X_EXPOSE_SECRETS=plaintext", NULL};

    (void)snprintf(key, sizeof(key), "HTTP_X_SESSION_API_KEY=%s", fixture->alice_key);
    (void)snprintf(path, sizeof(path),
                   "agent_settings.mcp_config.%s.auth.state.tokens.refresh_token", name);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", "/api/settings", NULL);

        assert_json_at(answer.body.text, path, expected);
    }
}

static void settings_with_the_old_token_get_the_new_one(void **state)
{
    struct site *site = new_site();
    CLEANUP(strbuf_done) struct strbuf same = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf elsewhere = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf newer = STRBUF_INIT;

    append_server(&same, site, "transport", in_s(-1), CLIENT);
    strbuf_append(&elsewhere,
                  "{\"transport\":\"http\",\"url\":\"http://127.0.0.1:1/mcp\",\"auth\":{"
                  "\"strategy\":\"oauth2\",\"state\":{\"tokens\":" OLD_TOKENS "}}}");
    strbuf_appendf(&newer,
                   "{\"transport\":\"http\",\"url\":\"%s\",\"auth\":{\"strategy\":\"oauth2\","
                   "\"state\":{\"tokens\":{\"access_token\":\"x\",\"refresh_token\":\"y\"}}}}",
                   test_server_url(site->server, "/mcp"));
    keep(state, "same", same.text);
    keep(state, "elsewhere", elsewhere.text);
    keep(state, "newer", newer.text);
    site_add_discovery(site, "");
    site_add(site, "200 OK", SITE_TOKENS);
    site_add_tools(site);
    {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_it(state, site, in_s(-1), CLIENT);
        assert_json_at(answer.body.text, "ok", "true");
    }
    assert_kept(state, "same", "\"the-refresh\"");
    assert_kept(state, "elsewhere", "\"old-refresh\"");
    assert_kept(state, "newer", "\"y\"");
    site_close(site);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_is_renewed_a_minute_before_its_end),
        cmocka_unit_test(token_that_lives_on_is_used),
        cmocka_unit_test(without_a_refresh_token_the_old_one_is_tried),
        cmocka_unit_test(refresh_token_stays_unless_there_is_a_new_one),
        cmocka_unit_test(tokens_that_were_renewed_are_not_renewed_again),
        cmocka_unit_test(renewals_that_fail_say_why),
        cmocka_unit_test(a_renewal_takes_a_slot_and_gives_it_back),
        cmocka_unit_test(settings_with_the_old_token_get_the_new_one),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
