/*
 * What nginx is told of a request for a port of a sandbox, and how browsers sign in there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/strbuf.h"
#include "fixture.h"
#include "support/pg.h"
#include "support/sql.h"

#define SANDBOX "abcdefghijklmnop"
#define HOST "5173-" SANDBOX ".sandbox.localhost:3000"
#define OTHER_HOST "5173-ponmlkjihgfedcba.sandbox.localhost:3000"
#define OTHER_PORT "http://3000-" SANDBOX ".sandbox.localhost:3000"
static const char sandbox_param[] = "DEFT_PREVIEW_SANDBOX=" SANDBOX;
static const char host_param[] = "HTTP_HOST=" HOST;
#define PARAMS "DEFT_ORIGIN=preview", "DEFT_PREVIEW_LABEL=5173", sandbox_param, host_param

/* Alice's sandbox, and a cookie of hers for its port 5173: "HTTP_COOKIE=deft_preview=…". */
static void allow(void **state, char cookie_out[96])
{
    const struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    keyring_hash_token(&fixture->context.keyring, token, hash);
    (void)snprintf(cookie_out, 96, "HTTP_COOKIE=deft_preview=%s", token);
    strbuf_appendf(&sql,
                   "DELETE FROM runtimes WHERE id = '" SANDBOX "';"
                   " INSERT INTO runtimes (id, session_id, owner_id, status, desired, image, spec,"
                   " session_key, session_key_hash, proves) VALUES ('" SANDBOX "', 's-%s', '%s',"
                   " 'running', 'running', 'i:1', '{}', 'x', '%s', false);",
                   hash, fixture->alice.text, hash);
    strbuf_appendf(&sql,
                   " WITH one AS (INSERT INTO sessions (user_id, token_hash, expires_at)"
                   "  VALUES ('%s', '%s', now() + interval '1 hour') RETURNING id)"
                   " INSERT INTO preview_sessions (token_hash, session_id, runtime_id, port,"
                   "  expires_at) SELECT '%s', id, '" SANDBOX "', 5173, now() + interval '1 hour'"
                   " FROM one",
                   fixture->alice.text, hash, hash);
    test_sql(sql.text);
}

static void move_to(const char *url)
{
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE runtimes SET url = '%s' WHERE id = '" SANDBOX "'", url);
    test_sql(sql.text);
}

static struct test_answer ask(void **state, const char *const *params)
{
    return test_dispatch_with(*state, params, "GET", "/check", NULL);
}

static void assert_refused(const struct test_answer *answer, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    strbuf_appendf(&line, "X-Deft-Why: %s\r\n", why);
    if (answer->status != 403 || strstr(answer->head.text, line.text) == NULL)
        fail_msg("not refused as %s: %d %s", why, answer->status, answer->head.text);
}

/* An address of another machine's own, of a link, or of the host itself leads to no sandbox. */
static void request_is_sent_to_the_sandbox_and_nowhere_else(void **state)
{
    static const struct {
        const char *url;
        const char *target; /* NULL: refused */
        const char *port;
    } cases[] = {
        {"http://10.1.2.3:8000", "10.1.2.3:5173\r\n", NULL},
        {"http://127.0.0.1:40001", "127.0.0.2:40001\r\n", "5173\r\n"},
        {"http://127.0.0.1:65535", "127.0.0.2:65535\r\n", "5173\r\n"},
        {"http://100.100.100.100:8000/", "100.100.100.100:5173\r\n", NULL},
        {"http://10.1.2.3", "10.1.2.3:5173\r\n", NULL},
        {"http://169.253.1.2:8000", "169.253.1.2:5173\r\n", NULL},
        {"http://1000.100.100.100:8000", NULL, NULL},
        {"http://100.100.100.100.:8000", NULL, NULL},
        {"http://100.100.100.100.100:8000", NULL, NULL},
        {"http://127.0.0.1", NULL, NULL},
        {"http://127.0.0.1:0", NULL, NULL},
        {"http://127.0.0.1:65536", NULL, NULL},
        {"http://127.0.0.3:40001", NULL, NULL},
        {"http://169.254.169.254:80", NULL, NULL},
        {"http://0.0.0.0:8000", NULL, NULL},
        {"http://localhost:8000", NULL, NULL},
        {"https://10.1.2.3:8000", NULL, NULL},
    };
    char cookie[96];
    const char *params[] = {PARAMS, cookie, NULL};

    allow(state, cookie);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        move_to(cases[i].url);
        {
            CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);
            const char *target = strstr(answer.head.text, "X-Deft-Address: ");
            const char *port = strstr(answer.head.text, "X-Deft-Port: ");

            if (cases[i].target == NULL) {
                assert_refused(&answer, "address");
                continue;
            }
            assert_int_equal(answer.status, 204);
            assert_non_null(target);
            target += strlen("X-Deft-Address: ");
            assert_memory_equal(target, cases[i].target, strlen(cases[i].target));
            assert_int_equal(port != NULL, cases[i].port != NULL);
            if (port != NULL)
                assert_memory_equal(port + strlen("X-Deft-Port: "), cases[i].port,
                                    strlen(cases[i].port));
        }
    }
}

/* Pages of other sandboxes are of the same site: the browser attaches the cookie to theirs, too. */
static void pages_of_others_may_link_to_a_preview_and_nothing_more(void **state)
{
    static const struct {
        const char *headers[4];
        bool passes;
    } cases[] = {
        {{"X=", "X=", "X=", "X="}, true},
        {{"HTTP_ORIGIN=http://" HOST, "X=", "X=", "X="}, true},
        {{"HTTP_ORIGIN=" OTHER_PORT, "X=", "X=", "X="}, true},
        {{"HTTP_ORIGIN=http://" OTHER_HOST, "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://localhost:3000", "HTTP_SEC_FETCH_SITE=same-site", "X=", "X="}, false},
        {{"HTTP_ORIGIN=null", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://work-1-" SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, true},
        {{"HTTP_ORIGIN=https://" HOST, "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://" HOST "0", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://" HOST ".evil.example", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://5173-" SANDBOX ".sandbox.evil.example", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://5173-" SANDBOX ".localhost:3000", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://5173." SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://1-" SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, true},
        {{"HTTP_ORIGIN=http://-" SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://" SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, false},
        {{"HTTP_ORIGIN=http://5173-a" SANDBOX ".sandbox.localhost:3000", "X=", "X=", "X="}, false},
        {{"HTTP_SEC_FETCH_SITE=same-origin", "X=", "X=", "X="}, true},
        {{"HTTP_SEC_FETCH_SITE=none", "X=", "X=", "X="}, true},
        {{"HTTP_SEC_FETCH_SITE=same-site", "X=", "X=", "X="}, false},
        {{"HTTP_SEC_FETCH_SITE=same-site", "HTTP_REFERER=http://" HOST "/a", "X=", "X="}, true},
        {{"HTTP_SEC_FETCH_SITE=same-site", "HTTP_REFERER=http://" OTHER_HOST "/", "X=", "X="},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "HTTP_SEC_FETCH_DEST=document", "DEFT_PREVIEW_METHOD=GET"},
         true},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "HTTP_SEC_FETCH_DEST=document", "DEFT_PREVIEW_METHOD=HEAD"},
         true},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "HTTP_SEC_FETCH_DEST=document", "X="},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "X=", "DEFT_PREVIEW_METHOD=GET"},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "X=", "HTTP_SEC_FETCH_DEST=document",
          "DEFT_PREVIEW_METHOD=GET"},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "HTTP_SEC_FETCH_DEST=document", "DEFT_PREVIEW_METHOD=POST"},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=navigate",
          "HTTP_SEC_FETCH_DEST=iframe", "DEFT_PREVIEW_METHOD=GET"},
         false},
        {{"HTTP_SEC_FETCH_SITE=cross-site", "HTTP_SEC_FETCH_MODE=cors",
          "HTTP_SEC_FETCH_DEST=document", "DEFT_PREVIEW_METHOD=GET"},
         false},
    };
    char cookie[96];

    allow(state, cookie);
    move_to("http://10.1.2.3:8000");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const *headers = cases[i].headers;
        const char *params[] = {PARAMS,     cookie,     headers[0], headers[1],
                                headers[2], headers[3], NULL};
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);

        if (!cases[i].passes)
            assert_refused(&answer, "stranger");
        else if (answer.status != 204)
            fail_msg("%s %s: %d %s", headers[0], headers[1], answer.status, answer.head.text);
    }
}

static void cookie_is_for_one_port_of_one_sandbox(void **state)
{
    static const char server_host_param[] = "HTTP_HOST=8000-" SANDBOX ".sandbox.localhost:3000";
    static const char other_host_param[] = "HTTP_HOST=5174-" SANDBOX ".sandbox.localhost:3000";
    char cookie[96];
    const char *none[] = {PARAMS, NULL};
    const char *wrong[] = {
        PARAMS, "HTTP_COOKIE=deft_preview=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", NULL};
    const char *port[] = {"DEFT_ORIGIN=preview",
                          "DEFT_PREVIEW_LABEL=5174",
                          sandbox_param,
                          other_host_param,
                          cookie,
                          NULL};
    const char *server[] = {"DEFT_ORIGIN=preview",
                            "DEFT_PREVIEW_LABEL=8000",
                            sandbox_param,
                            server_host_param,
                            cookie,
                            NULL};

    allow(state, cookie);
    move_to("http://10.1.2.3:8000");
    {
        CLEANUP(test_answer_done) struct test_answer without = ask(state, none);
        CLEANUP(test_answer_done) struct test_answer unknown = ask(state, wrong);
        CLEANUP(test_answer_done) struct test_answer elsewhere = ask(state, port);
        CLEANUP(test_answer_done) struct test_answer of_server = ask(state, server);

        assert_int_equal(without.status, 401);
        assert_int_equal(unknown.status, 401);
        assert_int_equal(elsewhere.status, 401);
        assert_refused(&of_server, "port");
    }
}

/* Each parameter is needed; the name of a sandbox is sixteen letters. */
static void origin_without_its_parts_shows_nothing(void **state)
{
    static const char label[] = "DEFT_PREVIEW_LABEL=5173";
    static const char *const wrong[][3] = {
        {"X=", sandbox_param, host_param},
        {label, "X=", host_param},
        {label, sandbox_param, "X="},
        {label, "DEFT_PREVIEW_SANDBOX=abcdefghijklmno", host_param},
        {label, "DEFT_PREVIEW_SANDBOX=abcdefghijklmnopq", host_param},
        {label, "DEFT_PREVIEW_SANDBOX=abcdefghijklmno1", host_param},
        {label, sandbox_param, "HTTP_HOST=localhost:3000"},
        {"DEFT_PREVIEW_LABEL=0", sandbox_param, host_param},
        {"DEFT_PREVIEW_LABEL=nope", sandbox_param, host_param},
    };
    char cookie[96];

    allow(state, cookie);
    move_to("http://10.1.2.3:8000");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *params[] = {"DEFT_ORIGIN=preview",     wrong[i][0], wrong[i][1], wrong[i][2],
                                "DEFT_PREVIEW_METHOD=GET", cookie,      NULL};
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);
        CLEANUP(test_answer_done) struct test_answer silent =
            test_dispatch_with(*state, params, "GET", "/silent", NULL);

        assert_refused(&answer, "port");
        assert_int_equal(silent.status, 502);
        if (i + 2 < sizeof(wrong) / sizeof(wrong[0])) {
            CLEANUP(test_answer_done) struct test_answer left =
                test_dispatch_with(*state, params, "GET", "/leave", NULL);
            CLEANUP(test_answer_done) struct test_answer entered =
                test_dispatch_with(*state, params, "GET", "/enter?pass=x&to=/", NULL);
            CLEANUP(test_answer_done) struct test_answer refused =
                test_dispatch_with(*state, params, "GET", "/refused", NULL);

            assert_int_equal(left.status, 401);
            assert_int_equal(entered.status, 403);
            assert_null(strstr(entered.body.text, "href"));
            assert_int_equal(refused.status, 404);
        }
    }
}

/* It is not started by a look at it. */
static void sandbox_that_a_user_stopped_stays_so(void **state)
{
    char cookie[96];
    const char *params[] = {PARAMS, cookie, NULL};

    allow(state, cookie);
    test_sql("UPDATE runtimes SET status = 'stopped', desired = 'stopped' WHERE id = '" SANDBOX
             "'");
    {
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);
        assert_refused(&answer, "stopped");
    }
}

/* "@evil.example" would make the preview's address a user name of another one. */
static void sign_in_leads_back_to_the_preview_and_nowhere_else(void **state)
{
    static const struct {
        const char *path;
        const char *link;
    } cases[] = {
        {"/enter?pass=wrong&to=/a?b=1", "href=\"http://" HOST "/a?b=1\""},
        {"/enter?pass=wrong&to=@evil.example/", "href=\"http://" HOST "/\""},
        {"/enter?pass=wrong&to=.evil.example/", "href=\"http://" HOST "/\""},
        {"/enter?pass=wrong&to=", "href=\"http://" HOST "/\""},
        {"/enter", "href=\"http://" HOST "/\""},
    };
    const char *params[] = {PARAMS, NULL};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", cases[i].path, NULL);

        assert_int_equal(answer.status, 403);
        assert_null(strstr(answer.head.text, "Set-Cookie"));
        if (strstr(answer.body.text, cases[i].link) == NULL)
            fail_msg("%s: %s", cases[i].path, answer.body.text);
    }
}

/* A script or a socket that was led away would report the page's own origin as silent. */
static void navigations_alone_are_led_to_the_sign_in(void **state)
{
    static const struct {
        const char *headers[2];
        int status;
    } cases[] = {
        {{"DEFT_PREVIEW_METHOD=GET", "X="}, 303},
        {{"DEFT_PREVIEW_METHOD=GET", "HTTP_SEC_FETCH_MODE=navigate"}, 303},
        {{"DEFT_PREVIEW_METHOD=HEAD", "X="}, 303},
        {{"DEFT_PREVIEW_METHOD=POST", "X="}, 401},
        {{"DEFT_PREVIEW_METHOD=GET", "HTTP_SEC_FETCH_MODE=cors"}, 401},
        {{"DEFT_PREVIEW_METHOD=GET", "HTTP_UPGRADE=websocket"}, 401},
        {{"X=", "X="}, 401},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *params[] = {PARAMS, cases[i].headers[0], cases[i].headers[1], NULL};
        CLEANUP(test_answer_done) struct test_answer answer =
            test_dispatch_with(*state, params, "GET", "/leave", NULL);

        if (answer.status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].headers[0], cases[i].headers[1], answer.status);
    }
}

/* A session of the page: "HTTP_COOKIE=deft_session=…". */
static void sign_in(void **state, const struct uuid *user, char cookie_out[96])
{
    const struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;
    char token[CRYPTO_TOKEN_BYTES];
    char hash[CRYPTO_HASH_HEX_BYTES];

    crypto_random_token(token);
    keyring_hash_token(&fixture->context.keyring, token, hash);
    (void)snprintf(cookie_out, 96, "HTTP_COOKIE=deft_session=%s", token);
    strbuf_appendf(&sql,
                   "INSERT INTO sessions (user_id, token_hash, expires_at)"
                   " VALUES ('%s', '%s', now() + interval '1 hour')",
                   user->text, hash);
    test_sql(sql.text);
}

static void pass_is_given_to_the_owner_and_not_for_the_servers_port(void **state)
{
#define PASS_PATH(label) "/api/v1/preview?label=" label "&sandbox=" SANDBOX "&state=s&to=%2Fa"
    const struct fixture *fixture = *state;
    char unused[96];
    char alices[96];
    char bobs[96];
    const char *alice[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", alices, NULL};
    const char *bob[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", bobs, NULL};
    const char *nobody[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", NULL};

    allow(state, unused);
    sign_in(state, &fixture->alice, alices);
    sign_in(state, &fixture->bob, bobs);
    {
        CLEANUP(test_answer_done) struct test_answer given =
            test_dispatch_with(*state, alice, "GET", PASS_PATH("5173"), NULL);
        CLEANUP(test_answer_done) struct test_answer server =
            test_dispatch_with(*state, alice, "GET", PASS_PATH("8000"), NULL);
        CLEANUP(test_answer_done) struct test_answer other =
            test_dispatch_with(*state, bob, "GET", PASS_PATH("5173"), NULL);
        CLEANUP(test_answer_done) struct test_answer none =
            test_dispatch_with(*state, nobody, "GET", PASS_PATH("5173"), NULL);

        assert_int_equal(given.status, 303);
        assert_non_null(strstr(given.head.text, "Location: http://" HOST "/.deft/enter?pass="));
        assert_int_equal(server.status, 404);
        assert_int_equal(other.status, 404);
        assert_int_equal(none.status, 401);
    }
#undef PASS_PATH
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_is_sent_to_the_sandbox_and_nowhere_else),
        cmocka_unit_test(pages_of_others_may_link_to_a_preview_and_nothing_more),
        cmocka_unit_test(cookie_is_for_one_port_of_one_sandbox),
        cmocka_unit_test(origin_without_its_parts_shows_nothing),
        cmocka_unit_test(sandbox_that_a_user_stopped_stays_so),
        cmocka_unit_test(sign_in_leads_back_to_the_preview_and_nowhere_else),
        cmocka_unit_test(navigations_alone_are_led_to_the_sign_in),
        cmocka_unit_test(pass_is_given_to_the_owner_and_not_for_the_servers_port),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
