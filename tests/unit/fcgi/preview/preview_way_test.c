/*
 * The whole way to a preview: to the page's origin, back with a pass, and what nginx is told then.
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
#include "base/text.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fixture.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

/* A request at the preview origin of a port of the fixture's sandbox. */
struct place {
    char label[40];
    char sandbox[60];
    char host[120];
};

static struct place place_of(void **state, const char *label, int port)
{
    const struct fixture *fixture = *state;
    struct place place;

    (void)snprintf(place.label, sizeof(place.label), "DEFT_PREVIEW_LABEL=%s", label);
    (void)snprintf(place.sandbox, sizeof(place.sandbox), "DEFT_PREVIEW_SANDBOX=%s",
                   fixture->sandbox_id);
    (void)snprintf(place.host, sizeof(place.host), "HTTP_HOST=%d-%s.sandbox.localhost:3000", port,
                   fixture->sandbox_id);
    return place;
}

static struct test_answer ask(void **state, const struct place *place, const char *path,
                              const char *const more[3])
{
    const char *params[] = {"DEFT_ORIGIN=preview",
                            place->label,
                            place->sandbox,
                            place->host,
                            more[0],
                            more[0] != NULL ? more[1] : NULL,
                            more[0] != NULL && more[1] != NULL ? more[2] : NULL,
                            NULL};

    return test_dispatch_with(*state, params, "GET", path, NULL);
}

#define ASK(name, place, path, ...)                                                                \
    const char *const name##_more[3] = {__VA_ARGS__};                                              \
    CLEANUP(test_answer_done) struct test_answer name = ask(state, place, path, name##_more)

/* The value after a text in an answer's head, up to one of the ends. */
static void take(const struct test_answer *answer, const char *after, const char *ends, char *out,
                 size_t size)
{
    const char *at = strstr(answer->head.text, after);

    if (at == NULL)
        fail_msg("no %s in %s", after, answer->head.text);
    at += strlen(after);
    (void)snprintf(out, size, "%.*s", (int)strcspn(at, ends), at);
}

static void assert_header(const struct test_answer *answer, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    strbuf_appendf(&line, "%s: %s\r\n", name, value);
    if (strstr(answer->head.text, line.text) == NULL)
        fail_msg("expected %s in %s", line.text, answer->head.text);
}

/* Alice's session: "HTTP_COOKIE=deft_session=…". */
static void sign_in(void **state, char cookie_out[96])
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
                   fixture->alice.text, hash);
    test_sql(sql.text);
}

static void add_sandbox(void **state, const char *url)
{
    char session[40];

    test_add_sandbox(*state, test_alices_session(*state, session), url);
}

/* Goes the whole way; gives "HTTP_COOKIE=deft_preview=…", the cookie of the preview's origin. */
static void enter(void **state, const struct place *place, const char *label, const char *scheme,
                  char cookie_out[200])
{
    const struct fixture *fixture = *state;
    char session[96];
    char value[160];
    char state_cookie[200];
    char path[400];
    char expected[300];
    const char *app[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", session, NULL};

    sign_in(state, session);
    {
        ASK(left, place, "/leave", "DEFT_PREVIEW_METHOD=GET", "DEFT_PREVIEW_TARGET=/a?b=c");

        assert_int_equal(left.status, 303);
        take(&left, "Set-Cookie: ", ";", value, sizeof(value));
        (void)snprintf(state_cookie, sizeof(state_cookie), "HTTP_COOKIE=%s", value);
        (void)snprintf(expected, sizeof(expected),
                       "%s://localhost:3000/api/v1/preview?label=%s&sandbox=%s&state=%s"
                       "&to=%%2Fa%%3Fb%%3Dc",
                       scheme, label, fixture->sandbox_id, strchr(value, '=') + 1);
        assert_header(&left, "Location", expected);
        assert_non_null(strstr(left.head.text, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"));
        take(&left, ":3000", "\r", path, sizeof(path));
    }
    {
        CLEANUP(test_answer_done) struct test_answer passed =
            test_dispatch_with(*state, app, "GET", path, NULL);

        assert_int_equal(passed.status, 303);
        (void)snprintf(expected, sizeof(expected), "Location: %s://%s-%s.sandbox.localhost:3000",
                       scheme, label, fixture->sandbox_id);
        assert_non_null(strstr(passed.head.text, expected));
        take(&passed, "/.deft", "\r", path, sizeof(path));
        assert_non_null(strstr(path, "&to=%2Fa%3Fb%3Dc"));
    }
    {
        ASK(entered, place, path, state_cookie);
        ASK(again, place, path, state_cookie);

        assert_int_equal(entered.status, 303);
        (void)snprintf(expected, sizeof(expected), "%s://%s/a?b=c", scheme,
                       place->host + strlen("HTTP_HOST="));
        assert_header(&entered, "Location", expected);
        assert_non_null(
            strstr(entered.head.text, "; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200"));
        assert_int_equal(again.status, 403);
        take(&entered, "Set-Cookie: ", ";", value, sizeof(value));
        (void)snprintf(cookie_out, 200, "HTTP_COOKIE=%s", value);
    }
}

static void browser_gets_a_cookie_that_shows_the_port(void **state)
{
    char cookie[200];
    char cookies[400];
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    enter(state, &place, "5173", "http", cookie);
    assert_memory_equal(cookie, "HTTP_COOKIE=deft_preview=", 25);
    (void)snprintf(cookies, sizeof(cookies),
                   "%s; a=b; __Host-deft_x=1;c ; deft_session=x; oh_workspace_session_key=y; d=e=f",
                   cookie);
    {
        ASK(plain, &place, "/check", cookie);
        ASK(more, &place, "/check", cookies);

        assert_int_equal(plain.status, 204);
        assert_header(&plain, "X-Deft-Address", "10.1.2.3:5173");
        assert_header(&plain, "X-Deft-Cookie", "");
        assert_header(&plain, "X-Deft-Host", "localhost:5173");
        assert_header(&plain, "X-Deft-Sent-Origin", "");
        assert_int_equal(more.status, 204);
        assert_header(&more, "X-Deft-Cookie", "a=b; c ; d=e=f");
    }
}

static void named_port_has_its_label(void **state)
{
    const struct fixture *fixture = *state;
    char cookie[200];
    char own[160];
    char other[160];
    char expected[160];
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "work-1", 0);
    (void)snprintf(place.host, sizeof(place.host), "HTTP_HOST=work-1-%s.sandbox.localhost:3000",
                   fixture->sandbox_id);
    enter(state, &place, "work-1", "http", cookie);
    (void)snprintf(own, sizeof(own), "HTTP_ORIGIN=http://%s", place.host + strlen("HTTP_HOST="));
    (void)snprintf(other, sizeof(other), "HTTP_ORIGIN=http://5173-%s.sandbox.localhost:3000",
                   fixture->sandbox_id);
    {
        ASK(from_own, &place, "/check", cookie, own);
        ASK(from_other, &place, "/check", cookie, other);

        assert_header(&from_own, "X-Deft-Address", "10.1.2.3:12000");
        assert_header(&from_own, "X-Deft-Host", "localhost:12000");
        assert_header(&from_own, "X-Deft-Sent-Origin", "http://localhost:12000");
        (void)snprintf(expected, sizeof(expected), "http://5173-%s.sandbox.localhost:3000",
                       fixture->sandbox_id);
        assert_header(&from_other, "X-Deft-Sent-Origin", expected);
    }
}

static void cookies_behind_tls_are_of_the_host_alone(void **state)
{
    struct fixture *fixture = *state;
    char cookie[200];
    char plain[220];
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    fixture->settings.app_url = "https://localhost:3000";
    /* The session of the page was set before. */
    enter(state, &place, "5173", "https", cookie);
    assert_memory_equal(cookie, "HTTP_COOKIE=__Host-deft_preview=", 32);
    (void)snprintf(plain, sizeof(plain), "HTTP_COOKIE=%s", cookie + strlen("HTTP_COOKIE=__Host-"));
    {
        ASK(shown, &place, "/check", cookie);
        ASK(unprefixed, &place, "/check", plain);

        assert_int_equal(shown.status, 204);
        assert_int_equal(unprefixed.status, 401);
    }
    fixture->settings.app_url = "http://localhost:3000";
}

static void two_tabs_share_a_state(void **state)
{
    static const char cookie[] = "HTTP_COOKIE=deft_preview_state=short; deft_preview_state="
                                 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    {
        ASK(left, &place, "/leave", "DEFT_PREVIEW_METHOD=HEAD", cookie);
        ASK(by_tls, &place, "/leave", "DEFT_PREVIEW_METHOD=GET", "REQUEST_SCHEME=https");

        assert_non_null(strstr(by_tls.head.text, "Location: https://localhost:3000/api"));

        assert_non_null(strstr(left.head.text,
                               "&state=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA&to=%2F\r\n"));
    }
}

/* The pass in an answer's address; that address begins so. */
static void take_pass(const struct test_answer *answer, const char *address, char pass_out[60])
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    assert_int_equal(answer->status, 303);
    strbuf_appendf(&expected, "Location: %s/.deft/enter?pass=", address);
    take(answer, expected.text, "&", pass_out, 60);
    assert_int_equal(strlen(pass_out), CRYPTO_TOKEN_BYTES - 1);
}

static void passes_are_new_and_for_the_named_host(void **state)
{
    const struct fixture *fixture = *state;
    char session[96];
    const char *named[] = {"DEFT_ORIGIN=app", "HTTP_HOST=deft.test:3000", session, NULL};
    const char *unnamed[] = {"DEFT_ORIGIN=app", session, NULL};
    char path[200];
    char address[120];
    char passes[3][60];

    add_sandbox(state, "http://10.1.2.3:8000");
    sign_in(state, session);
    (void)snprintf(path, sizeof(path), "/api/v1/preview?label=5173&sandbox=%s&state=s&to=/a",
                   fixture->sandbox_id);
    {
        CLEANUP(test_answer_done) struct test_answer first =
            test_dispatch_with(*state, named, "GET", path, NULL);
        CLEANUP(test_answer_done) struct test_answer second =
            test_dispatch_with(*state, named, "GET", path, NULL);
        CLEANUP(test_answer_done) struct test_answer third =
            test_dispatch_with(*state, unnamed, "GET", path, NULL);

        (void)snprintf(address, sizeof(address), "http://5173-%s.sandbox.deft.test:3000",
                       fixture->sandbox_id);
        take_pass(&first, address, passes[0]);
        take_pass(&second, address, passes[1]);
        (void)snprintf(address, sizeof(address), "http://5173-%s.sandbox.localhost",
                       fixture->sandbox_id);
        take_pass(&third, address, passes[2]);
    }
    assert_string_not_equal(passes[0], passes[1]);
    assert_string_not_equal(passes[0], passes[2]);
}

static void pass_needs_each_parameter(void **state)
{
    static const char *const members[] = {"label=5173", "state=s", "to=/a"};
    const struct fixture *fixture = *state;
    char session[96];
    const char *params[] = {"DEFT_ORIGIN=app", "HTTP_HOST=localhost:3000", session, NULL};

    add_sandbox(state, "http://10.1.2.3:8000");
    sign_in(state, session);
    for (size_t left_out = 0; left_out <= ARRAY_SIZE(members) + 1; left_out++) {
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

        strbuf_append(&path, "/api/v1/preview?x=y");
        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
            strbuf_appendf(&path, "&%s", i != left_out ? members[i] : "x=y");
        if (left_out != ARRAY_SIZE(members))
            strbuf_appendf(&path, "&sandbox=%s", fixture->sandbox_id);
        {
            CLEANUP(test_answer_done) struct test_answer answer =
                test_dispatch_with(*state, params, "GET", path.text, NULL);

            if (answer.status != (left_out > ARRAY_SIZE(members) ? 303 : 404))
                fail_msg("%s: %d", path.text, answer.status);
        }
    }
}

/* Sibling origins may set any cookie of that name: only a few are looked at, and only tokens. */
static void wrong_cookies_do_not_hide_the_right_one(void **state)
{
    static const char *const noise[] = {
        "deft_preview",
        "deft_preview=",
        "deft_preview=short",
        "x=y",
        "deft_previewx=",
        ";",
        "deft_preview=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!",
        "=",
        "__Host-deft_preview=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    char cookie[200];
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    enter(state, &place, "5173", "http", cookie);
    for (int n_tokens = 7; n_tokens <= 8; n_tokens++) {
        CLEANUP(strbuf_done) struct strbuf cookies = STRBUF_INIT;

        strbuf_append(&cookies, "HTTP_COOKIE=");
        for (size_t i = 0; i < ARRAY_SIZE(noise); i++)
            strbuf_appendf(&cookies, "%s; ", noise[i]);
        for (int i = 0; i < n_tokens; i++)
            strbuf_appendf(&cookies, "deft_preview=%043d; ", i);
        strbuf_append(&cookies, cookie + strlen("HTTP_COOKIE="));
        {
            ASK(answer, &place, "/check", cookies.text);
            assert_int_equal(answer.status, n_tokens < 8 ? 204 : 401);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
        char alone[200];

        (void)snprintf(alone, sizeof(alone), "HTTP_COOKIE=%s", noise[i]);
        {
            ASK(answer, &place, "/check", alone);
            assert_int_equal(answer.status, 401);
        }
    }
}

/* --- the sandbox's state --- */

static void change_sandbox(void **state, const char *changes)
{
    const struct fixture *fixture = *state;
    char sql[200];

    (void)snprintf(sql, sizeof(sql), "UPDATE runtimes SET %s WHERE id = '%s'", changes,
                   fixture->sandbox_id);
    test_sql(sql);
}

static void sandboxes_that_do_not_run_have_a_reason(void **state)
{
    static const struct {
        const char *changes;
        const char *why;
    } rows[] = {
        {"status = 'stopped', desired = 'running'", "stopped"},
        {"status = 'running', desired = 'stopped'", "stopped"},
        {"status = 'running', desired = 'deleted'", "stopped"},
        {"status = 'error', desired = 'running'", "failed"},
        {"status = 'paused', desired = 'paused'", "failed"}, /* no service can resume it */
    };
    char cookie[200];
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    enter(state, &place, "5173", "http", cookie);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        change_sandbox(state, rows[i].changes);
        {
            ASK(answer, &place, "/check", cookie);

            assert_int_equal(answer.status, 403);
            assert_header(&answer, "X-Deft-Why", rows[i].why);
        }
    }
}

static void paused_sandbox_is_resumed(void **state)
{
    static const struct test_reply full[] = {
        TEST_SAYS("429 Too Many Requests", "{\"detail\":\"full\"}")};
    const struct fixture *fixture = *state;
    char cookie[200];
    char id[40];
    struct place place;
    struct test_server *runtime = NULL;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    enter(state, &place, "5173", "http", cookie);
    change_sandbox(state, "status = 'paused', desired = 'paused'");
    runtime = test_start_runtime_api(*state, full, 1);
    (void)snprintf(id, sizeof(id), "\"%s\"", fixture->sandbox_id);
    {
        ASK(answer, &place, "/check", cookie);

        assert_int_equal(answer.status, 403);
        assert_header(&answer, "X-Deft-Why", "full");
    }
    assert_asked(runtime, 0, "POST /resume HTTP");
    assert_asked_json(runtime, 0, "runtime_id", id);
    assert_asked_json(runtime, 0, "wait_ms", "120000");
    test_stop_runtime_api(*state, runtime);
}

/* The service may say so and not do it; as many requests may wait afterwards as before. */
static void sandbox_that_was_not_resumed_has_a_reason(void **state)
{
    static const struct test_reply done[] = {TEST_SAYS("200 OK", "{}")};
    char cookie[200];
    struct place place;
    struct test_server *runtime = NULL;
    size_t n_slots = 0;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    enter(state, &place, "5173", "http", cookie);
    change_sandbox(state, "status = 'paused', desired = 'running'");
    runtime = test_start_runtime_api(*state, done, 1);
    n_slots = test_take_waits(*state);
    {
        ASK(busy, &place, "/check", cookie);

        assert_int_equal(busy.status, 403);
        assert_header(&busy, "X-Deft-Why", "failed");
        assert_int_equal(test_server_n_requests(runtime), 0);
    }
    test_give_waits(*state, n_slots);
    for (size_t i = 0; i <= n_slots; i++) {
        ASK(answer, &place, "/check", cookie);

        assert_int_equal(answer.status, 403);
        assert_header(&answer, "X-Deft-Why", "failed");
        assert_int_equal(test_server_n_requests(runtime), i + 1);
    }
    test_stop_runtime_api(*state, runtime);
}

static void editor_is_started_by_its_page(void **state)
{
    static const struct {
        const char *method;
        const char *target;
        const char *upgrade;
        bool is_started;
    } rows[] = {
        {"DEFT_PREVIEW_METHOD=GET", "DEFT_PREVIEW_TARGET=/", "X=", true},
        {"DEFT_PREVIEW_METHOD=GET", "DEFT_PREVIEW_TARGET=/?tkn=x", "X=", true},
        {"DEFT_PREVIEW_METHOD=GET", "DEFT_PREVIEW_TARGET=/a.js", "X=", false},
        {"DEFT_PREVIEW_METHOD=POST", "DEFT_PREVIEW_TARGET=/", "X=", false},
        {"DEFT_PREVIEW_METHOD=GET", "DEFT_PREVIEW_TARGET=/", "HTTP_UPGRADE=websocket", false},
    };
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{\"program\":\"code\"}")};
    size_t n_slots = test_take_waits(*state);

    test_give_waits(*state, n_slots);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, replies, 1);
        char cookie[200];
        struct place place = place_of(state, "vscode", 60001);

        enter(state, &place, "vscode", "http", cookie);
        {
            const char *params[] = {
                "DEFT_ORIGIN=preview", place.label,    place.sandbox,   place.host, cookie,
                rows[i].method,        rows[i].target, rows[i].upgrade, NULL};
            CLEANUP(test_answer_done) struct test_answer answer =
                test_dispatch_with(*state, params, "GET", "/check", NULL);

            assert_int_equal(answer.status, 204);
            assert_header(&answer, "X-Deft-Host", place.host + strlen("HTTP_HOST="));
        }
        assert_int_equal(test_server_n_requests(server), rows[i].is_started ? 1 : 0);
        if (rows[i].is_started)
            assert_asked(server, 0, "POST /editor/start HTTP");
        test_server_stop(server);
    }
    assert_int_equal(test_take_waits(*state), n_slots);
    test_give_waits(*state, n_slots);
}

/* --- pages --- */

static void assert_page(const struct test_answer *answer, int status, const char *title,
                        const char *link)
{
    CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;

    strbuf_appendf(&expected, "<title>%s</title>\n<h1>%s</h1>\n<p>", title, title);
    if (answer->status != status || strstr(answer->body.text, expected.text) == NULL)
        fail_msg("expected %d %s, got %d: %s", status, title, answer->status, answer->body.text);
    assert_non_null(strstr(answer->head.text, "Content-Type: text/html; charset=utf-8\r\n"));
    assert_true(text_starts_with(answer->body.text, "<!doctype html>\n<html lang=\"en\">\n"));
    assert_true(text_ends_with(answer->body.text, "</p>\n</html>\n"));
    if (link != NULL)
        assert_non_null(strstr(answer->body.text, link));
    else
        assert_null(strstr(answer->body.text, "<a "));
}

static void each_refusal_has_a_page(void **state)
{
    static const char home[] = "<a href=\"http://localhost:3000/\">Go to the conversations</a>";
    static const struct {
        const char *why;
        int status;
        const char *title;
        const char *link;
    } rows[] = {
        {"DEFT_PREVIEW_WHY=port", 404, "This port cannot be shown", NULL},
        {"DEFT_PREVIEW_WHY=stranger", 403, "Request from another origin", NULL},
        {"DEFT_PREVIEW_WHY=stopped", 503, "The sandbox is stopped", home},
        {"DEFT_PREVIEW_WHY=failed", 503, "The sandbox is not running", home},
        {"DEFT_PREVIEW_WHY=full", 429, "The sandbox is paused", NULL},
        {"DEFT_PREVIEW_WHY=address", 502, "The sandbox has no address", NULL},
        {"DEFT_PREVIEW_WHY=other", 404, "This port cannot be shown", NULL},
        {"X=", 404, "This port cannot be shown", NULL},
    };
    struct place place;

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ASK(answer, &place, "/refused", rows[i].why);
        assert_page(&answer, rows[i].status, rows[i].title, rows[i].link);
    }
}

static void pages_say_what_to_do(void **state)
{
    struct place place;
    char session[96];
    const char *nobody[] = {"DEFT_ORIGIN=app", NULL};
    const char *alice[] = {"DEFT_ORIGIN=app", session, NULL};

    add_sandbox(state, "http://10.1.2.3:8000");
    place = place_of(state, "5173", 5173);
    sign_in(state, session);
    {
        ASK(silent, &place, "/silent", NULL);
        ASK(left, &place, "/leave", "DEFT_PREVIEW_METHOD=POST");
        ASK(entered, &place, "/enter?pass=x&to=/%22%3C%26", NULL);
        CLEANUP(test_answer_done) struct test_answer unsigned_in =
            test_dispatch_with(*state, nobody, "GET", "/api/v1/preview", NULL);
        CLEANUP(test_answer_done) struct test_answer unknown =
            test_dispatch_with(*state, alice, "GET", "/api/v1/preview?label=5173", NULL);

        assert_page(&silent, 502, "Nothing is listening there", NULL);
        assert_non_null(strstr(silent.body.text, "responds on port 5173. It must listen"));
        assert_page(&left, 401, "Not signed in", NULL);
        assert_page(&entered, 403, "This link cannot be used again",
                    "/&quot;&lt;&amp;\">Open the preview again</a>");
        assert_page(&unsigned_in, 401, "Sign in first", "<a href=\"/\">Sign in</a>");
        assert_page(&unknown, 404, "There is no such preview",
                    "<a href=\"/\">Go to the conversations</a>");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(browser_gets_a_cookie_that_shows_the_port),
        cmocka_unit_test(named_port_has_its_label),
        cmocka_unit_test(cookies_behind_tls_are_of_the_host_alone),
        cmocka_unit_test(two_tabs_share_a_state),
        cmocka_unit_test(passes_are_new_and_for_the_named_host),
        cmocka_unit_test(pass_needs_each_parameter),
        cmocka_unit_test(wrong_cookies_do_not_hide_the_right_one),
        cmocka_unit_test(sandboxes_that_do_not_run_have_a_reason),
        cmocka_unit_test(paused_sandbox_is_resumed),
        cmocka_unit_test(sandbox_that_was_not_resumed_has_a_reason),
        cmocka_unit_test(editor_is_started_by_its_page),
        cmocka_unit_test(each_refusal_has_a_page),
        cmocka_unit_test(pages_say_what_to_do),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
