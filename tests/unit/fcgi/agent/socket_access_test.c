/*
 * The reply to nginx's subrequest for a WebSocket's upgrade.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential.h"
#include "auth/credential_header.h"
#include "auth/session.h"
#include "auth/wrong_keys.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fixture.h"
#include "store/conversation/async_store.h"
#include "store/db/db.h"
#include "support/pg.h"

enum { PARAM_BYTES = 192 };

static struct test_answer ask(void **state, const char *const *params)
{
    return test_dispatch_with(*state, params, "GET", "/socket", NULL);
}

/* Fails unless the answer is 204 with the hash of that token as its credential. */
static void assert_credential(void **state, const struct test_answer *answer, const char *kind,
                              const char *token)
{
    const struct fixture *fixture = *state;
    char hash[CRYPTO_HASH_HEX_BYTES];
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    keyring_hash_token(&fixture->context.keyring, token, hash);
    strbuf_appendf(&line, CREDENTIAL_HEADER ": %s %s\r\n", kind, hash);
    assert_int_equal(answer->status, 204);
    assert_non_null(strstr(answer->head.text, line.text));
}

static void keys_come_in_the_query_before_the_header(void **state)
{
    const struct fixture *fixture = *state;
    char query[PARAM_BYTES];
    char header[PARAM_BYTES];
    const char *both[] = {"DEFT_ORIGIN=socket", query, "HTTP_X_SESSION_API_KEY=wrong", NULL};
    const char *empty[] = {"DEFT_ORIGIN=socket", "DEFT_SOCKET_KEY=", header, NULL};

    (void)snprintf(query, sizeof(query), "DEFT_SOCKET_KEY=%%73k%s", fixture->alice_key + 2);
    (void)snprintf(header, sizeof(header), "HTTP_X_SESSION_API_KEY=%s", fixture->bob_key);
    {
        CLEANUP(test_answer_done) struct test_answer by_query = ask(state, both);
        CLEANUP(test_answer_done) struct test_answer by_header = ask(state, empty);

        assert_credential(state, &by_query, "key", fixture->alice_key);
        assert_credential(state, &by_header, "key", fixture->bob_key);
    }
}

static void without_a_credential_the_first_frame_must_bring_it(void **state)
{
    const char *params[] = {"DEFT_ORIGIN=socket", "DEFT_SOCKET_ORIGIN=app", NULL};
    CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);

    assert_int_equal(answer.status, 204);
    assert_null(strstr(answer.head.text, CREDENTIAL_HEADER));
}

static void wrong_keys_are_refused_and_limited(void **state)
{
    struct fixture *fixture = *state;
    const char *params[] = {"DEFT_ORIGIN=socket", "DEFT_SOCKET_KEY=sk-deft-wrong",
                            "REMOTE_ADDR=192.0.2.9", NULL};

    fixture->context.wrong_keys = wrong_keys_new();
    for (int i = 0; i < WRONG_KEYS_PER_MINUTE + 2; i++) {
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);

        assert_int_equal(answer.status, i < WRONG_KEYS_PER_MINUTE ? 403 : 401);
    }
    wrong_keys_free(fixture->context.wrong_keys);
    fixture->context.wrong_keys = NULL;
}

/* A key may be right: nothing is known of it, so it is neither refused nor counted. */
static void key_that_cannot_be_looked_up_is_not_refused(void **state)
{
    struct fixture *fixture = *state;
    struct db *db = fixture->context.db;
    const struct db_options nowhere = {
        .url = "host=/nonexistent dbname=none", .application = "deft-test", .n_connections = 1};
    char key[PARAM_BYTES];
    const char *params[] = {"DEFT_ORIGIN=socket", key, "REMOTE_ADDR=192.0.2.10", NULL};
    struct error err = ERROR_INIT;

    (void)snprintf(key, sizeof(key), "DEFT_SOCKET_KEY=%s", fixture->alice_key);
    fixture->context.wrong_keys = wrong_keys_new();
    assert_int_equal(db_open(&nowhere, &fixture->context.db, &err), 0);
    for (int i = 0; i <= WRONG_KEYS_PER_MINUTE; i++) {
        CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);

        assert_int_equal(answer.status, 503);
    }
    db_free(fixture->context.db);
    fixture->context.db = db;
    wrong_keys_free(fixture->context.wrong_keys);
    fixture->context.wrong_keys = NULL;
}

static void open_session(void **state, char token_out[CRYPTO_TOKEN_BYTES])
{
    const struct fixture *fixture = *state;
    const struct fcgi_context *context = &fixture->context;
    CLEANUP(strbuf_done) struct strbuf link = STRBUF_INIT;
    struct error err = ERROR_INIT;

    assert_int_equal(credential_new_link(context->db, &context->keyring, &link, &err), 0);
    assert_int_equal(session_open(context->db, &context->keyring, link.text, token_out, &err), 0);
}

static void a_cookie_counts_on_the_app_origin_alone(void **state)
{
    char token[CRYPTO_TOKEN_BYTES];
    char cookie[PARAM_BYTES];
    const char *app[] = {"DEFT_ORIGIN=socket",           "DEFT_SOCKET_ORIGIN=app", cookie,
                         "HTTP_ORIGIN=http://deft.test", "HTTP_HOST=deft.test",    NULL};
    const char *agent[] = {"DEFT_ORIGIN=socket",           "DEFT_SOCKET_ORIGIN=agent", cookie,
                           "HTTP_ORIGIN=http://deft.test", "HTTP_HOST=deft.test",      NULL};
    const char *stale[] = {
        "DEFT_ORIGIN=socket",           "DEFT_SOCKET_ORIGIN=app", "HTTP_COOKIE=deft_session=none",
        "HTTP_ORIGIN=http://deft.test", "HTTP_HOST=deft.test",    NULL};

    open_session(state, token);
    (void)snprintf(cookie, sizeof(cookie), "HTTP_COOKIE=a=b; deft_session=%s", token);
    {
        CLEANUP(test_answer_done) struct test_answer of_page = ask(state, app);
        CLEANUP(test_answer_done) struct test_answer of_agent = ask(state, agent);
        CLEANUP(test_answer_done) struct test_answer of_nobody = ask(state, stale);

        assert_credential(state, &of_page, "session", token);
        assert_int_equal(of_agent.status, 204);
        assert_null(strstr(of_agent.head.text, CREDENTIAL_HEADER));
        assert_int_equal(of_nobody.status, 403);
    }
}

static void a_cookie_counts_with_the_origin_that_was_come_to(void **state)
{
    static const struct {
        const char *origin; /* "": none */
        const char *scheme;
        const char *host;
        bool is_own;
    } rows[] = {
        {"http://deft.test", "http", "deft.test", true},
        {"http://DEFT.test:80", "http", "deft.test", true},
        {"https://deft.test", "https", "deft.test", true},
        {"https://deft.test:443", "https", "deft.test", true},
        {"", "http", "deft.test", false},
        {"null", "http", "deft.test", false},
        {"https://deft.test", "http", "deft.test", false},
        {"http://deft.test", "https", "deft.test", false},
        {"http://deft.test:8080", "http", "deft.test", false},
        {"ftp://deft.test", "http", "deft.test", false},
        {"http://evil.test", "http", "deft.test", false},
        {"http://deft.test", "http", "evil.test", false},
        {"http://deft.test, http://evil.test", "http", "deft.test", false},
    };
    char token[CRYPTO_TOKEN_BYTES];

    open_session(state, token);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char cookie[PARAM_BYTES];
        char scheme[PARAM_BYTES];
        char host[PARAM_BYTES];
        char origin[PARAM_BYTES];
        const char *params[] = {
            "DEFT_ORIGIN=socket", "DEFT_SOCKET_ORIGIN=app", cookie, scheme, host, origin, NULL};

        (void)snprintf(cookie, sizeof(cookie), "HTTP_COOKIE=deft_session=%s", token);
        (void)snprintf(scheme, sizeof(scheme), "REQUEST_SCHEME=%s", rows[i].scheme);
        (void)snprintf(host, sizeof(host), "HTTP_HOST=%s", rows[i].host);
        (void)snprintf(origin, sizeof(origin), "HTTP_ORIGIN=%s", rows[i].origin);
        if (rows[i].origin[0] == '\0')
            params[5] = NULL;
        {
            CLEANUP(test_answer_done) struct test_answer answer = ask(state, params);

            if ((answer.status == 204) != rows[i].is_own)
                fail_msg("%s at %s://%s: %d", rows[i].origin, rows[i].scheme, rows[i].host,
                         answer.status);
        }
    }
}

static void only_nginx_can_ask(void **state)
{
    const char *agent[] = {"DEFT_ORIGIN=agent", NULL};
    const char *app[] = {"DEFT_ORIGIN=app", NULL};
    CLEANUP(test_answer_done) struct test_answer by_agent = ask(state, agent);
    CLEANUP(test_answer_done) struct test_answer by_app = ask(state, app);

    assert_int_equal(by_agent.status, 404);
    assert_int_equal(by_app.status, 404);
}

static void credentials_survive_the_header(void **state)
{
    static const enum caller_kind kinds[] = {CALLER_USER_KEY, CALLER_SESSION, CALLER_SANDBOX_KEY};
    static const char *const bad[] = {"", "key", "key ", "key 12", "user x", "session zz"};
    struct caller_query read = {.kind = CALLER_USER_KEY};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct caller_query query = {.kind = kinds[i]};
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        memset(query.hash, 'a', sizeof(query.hash) - 1);
        credential_header_append(&query, &text);
        assert_true(text.len < CREDENTIAL_HEADER_BYTES);
        assert_true(credential_header_read(text.text, &read));
        assert_int_equal(read.kind, kinds[i]);
        assert_string_equal(read.hash, query.hash);
        strbuf_append_char(&text, 'a');
        assert_false(credential_header_read(text.text, &read));
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(credential_header_read(bad[i], &read));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_in_the_query_before_the_header),
        cmocka_unit_test(without_a_credential_the_first_frame_must_bring_it),
        cmocka_unit_test(wrong_keys_are_refused_and_limited),
        cmocka_unit_test(key_that_cannot_be_looked_up_is_not_refused),
        cmocka_unit_test(a_cookie_counts_on_the_app_origin_alone),
        cmocka_unit_test(a_cookie_counts_with_the_origin_that_was_come_to),
        cmocka_unit_test(only_nginx_can_ask),
        cmocka_unit_test(credentials_survive_the_header),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
