/*
 * Short calls of a sandbox: what is sent, what its statuses mean, and which sandbox is asked.
 */
#include "fcgi/sandbox/sandbox_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "client/test_server.h"
#include "fake_sandbox.h"
#include "fcgi/core/reply.h"
#include "fixture.h"
#include "model/conversation/conversation.h"
#include "support/json_path.h"
#include "support/pg.h"
#include "support/sql.h"

enum { TIMEOUT_MS = 60000 };

/* One call of Alice's shared sandbox, and what came of it. */
struct asked {
    int rc;
    struct error err;
    json_t *answer;
};

static void asked_done(struct asked *asked)
{
    json_decref(asked->answer);
}

typedef int send(const struct fcgi_context *context, const struct sandbox_request *request,
                 json_t **answer_out, struct error *err);

static struct asked ask(void **state, send *send_request, struct sandbox_request request)
{
    struct fixture *fixture = *state;
    struct principal alice = {.user_id = fixture->alice};
    struct asked asked = {.rc = -1};
    json_auto_t *body = json_object();

    json_put(body, "a", json_integer(1));
    (void)test_alices_session(*state, alice.runtime_session);
    request.owner.principal = &alice;
    request.path = "/ask";
    request.timeout_ms = TIMEOUT_MS;
    if (request.body == NULL && request.method == NULL)
        request.body = body;
    asked.rc = send_request(&fixture->context, &request, &asked.answer, &asked.err);
    return asked;
}

#define ASK(name, send_request, ...)                                                               \
    CLEANUP(asked_done) struct asked name =                                                        \
        ask(state, send_request, (struct sandbox_request){__VA_ARGS__})

static void action_names_its_conversation_and_its_fence(void **state)
{
    static const struct test_reply replies[] = {TEST_SAYS("200 OK", "{\"b\":2}")};
    struct test_server *server = test_start_sandbox(*state, replies, 1);
    ASK(action, sandbox_request_send, .conversation = "the-conversation", .fence = 7);
    ASK(other, sandbox_request_send, .fence = 7);
    ASK(bare, sandbox_request_send, .method = "GET");

    assert_int_equal(action.rc, 0);
    assert_int_equal(json_integer_value(json_object_get(action.answer, "b")), 2);
    assert_int_equal(other.rc, 0);
    assert_int_equal(bare.rc, 0);
    assert_asked(server, 0, "POST /ask HTTP/1.1\r\n");
    assert_asked(server, 0, "\r\nX-Deft-Conversation: the-conversation\r\n");
    assert_asked(server, 0, "\r\nX-Deft-Fence: 7\r\n");
    assert_asked(server, 0, "sandbox-key");
    assert_asked_json(server, 0, "", "{\"a\":1}");
    assert_not_asked(server, 1, "X-Deft-Conversation");
    assert_not_asked(server, 1, "X-Deft-Fence");
    assert_asked(server, 2, "GET /ask HTTP/1.1\r\n");
    assert_string_equal(test_asked_body(server, 2), "");
    test_server_stop(server);
}

/* Of a running sandbox, which is asked once. */
static void statuses_become_errors(void **state)
{
    static const struct {
        struct test_reply reply;
        enum error_code code;
        const char *words;
    } rows[] = {
        {TEST_SAYS("401 Unauthorized", "{}"), ERROR_UNAUTHENTICATED, "rejected the server's key"},
        {TEST_SAYS("404 Not Found", "{}"), ERROR_UNAVAILABLE, "started by an older version"},
        {TEST_SAYS("405 Method Not Allowed", "{}"), ERROR_UNAVAILABLE, "an older version"},
        {TEST_SAYS("200 OK", "[]"), ERROR_UNAVAILABLE, "the sandbox's reply is not valid"},
        {TEST_SAYS("200 OK", "{"), ERROR_UNAVAILABLE, "the sandbox's reply is not valid"},
        {TEST_SAYS("504 Gateway Timeout", "{}"), ERROR_TIMEOUT, "too slow"},
        {TEST_SAYS("504 Gateway Timeout", "{\"detail\":\"late\"}"), ERROR_TIMEOUT, "late"},
        {TEST_SAYS("409 Conflict", "{\"detail\":\"busy\"}"), ERROR_CONFLICT, "busy"},
        {TEST_SAYS("409 Conflict", "{}"), ERROR_CONFLICT, "the sandbox refused the request"},
        {TEST_SAYS("400 Bad Request", "{\"detail\":\"no\"}"), ERROR_INVALID, "no"},
        {TEST_SAYS("499 Odd", "{}"), ERROR_INVALID, "the sandbox refused the request"},
        {TEST_SAYS("500 Internal Server Error", "{}"), ERROR_UNAVAILABLE, "refused the request"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct test_server *server = test_start_sandbox(*state, &rows[i].reply, 1);
        ASK(asked, sandbox_request_send_running, .fence = 0);

        if (asked.rc != -1 || asked.err.code != rows[i].code || asked.answer != NULL ||
            strstr(asked.err.message, rows[i].words) == NULL)
            fail_msg("row %zu: %d %d %s", i, asked.rc, asked.err.code, asked.err.message);
        assert_int_equal(test_server_n_requests(server), 1);
        test_server_stop(server);
    }
    {
        static const struct test_reply odd[] = {TEST_SAYS("399 Odd", "{}")};
        struct test_server *server = test_start_sandbox(*state, odd, 1);
        ASK(asked, sandbox_request_send_running, .fence = 0);

        assert_int_equal(asked.rc, 0);
        test_server_stop(server);
    }
}

/* The sandbox of the row gives `first`; the service starts another one. */
static void assert_started(void **state, struct test_reply first, size_t n_starts,
                           const char *is_doubted, enum error_code code)
{
    static const struct test_reply fine[] = {TEST_SAYS("200 OK", "{\"b\":2}")};
    struct test_server *known = test_start_sandbox(*state, &first, 1);
    struct test_server *fresh = test_server_start(fine, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct test_reply started = {.ending = TEST_CLOSE};
    struct test_server *service = NULL;

    strbuf_appendf(&body,
                   "{\"runtime_id\":\"abcdefghijklmnop\",\"status\":\"running\",\"url\":\"%s\","
                   "\"session_api_key\":\"owners-key\",\"call_key\":\"fresh-key\"}",
                   test_server_url(fresh, ""));
    strbuf_appendf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", body.len, body.text);
    started.bytes = text.text;
    service = test_start_runtime_api(*state, &started, 1);
    {
        ASK(asked, sandbox_request_send, .fence = 0);

        assert_int_equal(asked.rc, n_starts > 0 ? 0 : -1);
        if (n_starts == 0)
            assert_int_equal(asked.err.code, code);
    }
    assert_int_equal(test_server_n_requests(known), 1);
    assert_int_equal(test_server_n_requests(service), n_starts);
    assert_int_equal(test_server_n_requests(fresh), n_starts);
    if (n_starts > 0) {
        assert_asked_json(service, 0, "is_doubted", is_doubted);
        assert_asked(fresh, 0, "fresh-key");
    }
    test_stop_runtime_api(*state, service);
    test_server_stop(fresh);
    test_server_stop(known);
}

static void sandbox_that_is_gone_is_started_again(void **state)
{
    static const struct test_reply silent = {.bytes = "", .ending = TEST_CLOSE};
    static const struct test_reply refusal = TEST_SAYS("401 Unauthorized", "{}");
    static const struct test_reply wrong = TEST_SAYS("422 Unprocessable", "{}");
    static const struct test_reply busy = TEST_SAYS("409 Conflict", "{}");

    assert_started(state, silent, 1, "true", 0);
    assert_started(state, refusal, 1, NULL, 0);
    assert_started(state, wrong, 0, NULL, ERROR_INVALID);
    assert_started(state, busy, 0, NULL, ERROR_CONFLICT);
}

static void set_row(void **state, const char *changes)
{
    const struct fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf sql = STRBUF_INIT;

    strbuf_appendf(&sql, "UPDATE runtimes SET %s WHERE id = '%s'", changes, fixture->sandbox_id);
    test_sql(sql.text);
}

/* The service has no room, or is not asked at all. */
static void sandbox_that_does_not_run_is_not_asked(void **state)
{
    static const char *const changes[] = {
        "status = 'paused'",
        "status = 'starting'",
        "status = 'running', desired = 'paused'",
        "url = NULL",
    };
    static const struct test_reply fine[] = {TEST_SAYS("200 OK", "{}")};
    static const struct test_reply full[] = {
        TEST_SAYS("429 Too Many Requests", "{\"detail\":\"full\"}")};

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct test_server *sandbox = test_start_sandbox(*state, fine, 1);
        struct test_server *service = test_start_runtime_api(*state, full, 1);

        set_row(state, changes[i]);
        {
            ASK(running, sandbox_request_send_running, .fence = 0);
            ASK(any, sandbox_request_send, .fence = 0);

            if (running.rc != -1 || running.err.code != ERROR_NOT_FOUND)
                fail_msg("%s: %d %s", changes[i], running.rc, running.err.message);
            assert_int_equal(any.rc, -1);
            assert_int_equal(any.err.code, ERROR_RATE_LIMITED);
        }
        assert_int_equal(test_server_n_requests(service), 1);
        assert_int_equal(test_server_n_requests(sandbox), 0);
        test_stop_runtime_api(*state, service);
        test_server_stop(sandbox);
    }
}

/* A conversation with a sandbox of its own is named, and says what that is made of. */
static void own_sandbox_is_started_for_its_conversation(void **state)
{
    static const struct test_reply full[] = {
        TEST_SAYS("429 Too Many Requests", "{\"detail\":\"full\"}")};
    char own_session[] = "c-own";
    const struct fixture *fixture = *state;
    struct test_server *service = test_start_runtime_api(*state, full, 1);
    struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *spec = json_object();
    json_t *container = json_object();
    char owner[50] = "";
    char id[50] = "";

    json_put(spec, "container", container);
    json_put_text(container, "memory", "64m");
    conversation.id = uuid_random();
    conversation.runtime_session = own_session;
    conversation.spec = spec;
    (void)snprintf(owner, sizeof(owner), "\"%s\"", fixture->alice.text);
    (void)snprintf(id, sizeof(id), "\"%s\"", conversation.id.text);
    conversation.runtime_kind = RUNTIME_DOCKER;
    {
        ASK(own, sandbox_request_send, .owner.conversation = &conversation);
        assert_int_equal(own.err.code, ERROR_RATE_LIMITED);
    }
    conversation.runtime_kind = RUNTIME_LOCAL;
    {
        ASK(shared, sandbox_request_send, .owner.conversation = &conversation);
        assert_int_equal(shared.err.code, ERROR_RATE_LIMITED);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_asked_json(service, i, "session_id", "\"c-own\"");
        assert_asked_json(service, i, "owner_id", owner);
        assert_asked_json(service, i, "wait_ms", "120000");
    }
    assert_asked_json(service, 0, "conversation_id", id);
    assert_asked_json(service, 1, "conversation_id", NULL);
    assert_asked(service, 0, "67108864");
    assert_not_asked(service, 1, "67108864");
    test_stop_runtime_api(*state, service);
}

/* As many requests may wait afterwards as before. */
static void requests_wait_in_slots(void **state)
{
    static const struct test_reply fine[] = {TEST_SAYS("200 OK", "{}")};
    send *const sends[] = {sandbox_request_send, sandbox_request_send_running};
    struct test_server *server = test_start_sandbox(*state, fine, 1);

    for (size_t i = 0; i < ARRAY_SIZE(sends); i++) {
        size_t n = test_take_waits(*state);
        ASK(refused, sends[i], .fence = 0);

        assert_int_equal(refused.rc, -1);
        assert_int_equal(refused.err.code, ERROR_UNAVAILABLE);
        assert_int_equal(test_server_n_requests(server), i);
        test_give_waits(*state, n);
        {
            ASK(asked, sends[i], .fence = 0);
            assert_int_equal(asked.rc, 0);
        }
        assert_int_equal(test_take_waits(*state), n);
        test_give_waits(*state, n);
    }
    test_server_stop(server);
}

/* What the client did wrong, and limits, keep their own status. */
static void failures_are_told_as_a_bad_gateway(void **state)
{
    static const struct {
        enum error_code code;
        bool is_passed;
    } rows[] = {
        {ERROR_INVALID, true},      {ERROR_CANCELLED, true}, {ERROR_RATE_LIMITED, true},
        {ERROR_UNAVAILABLE, false}, {ERROR_TIMEOUT, false},  {ERROR_UNAUTHENTICATED, false},
        {ERROR_NOT_FOUND, false},   {ERROR_CONFLICT, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(reply_done) struct reply reply = REPLY_INIT;
        const struct error err = {.code = rows[i].code, .message = "why"};

        assert_int_equal(sandbox_request_failed(&reply, &err), rows[i].is_passed ? -1 : 0);
        if (rows[i].is_passed)
            continue;
        assert_int_equal(reply.status, 502);
        assert_non_null(strstr(reply.body.text, "502: why"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(action_names_its_conversation_and_its_fence),
        cmocka_unit_test(statuses_become_errors),
        cmocka_unit_test(sandbox_that_is_gone_is_started_again),
        cmocka_unit_test(sandbox_that_does_not_run_is_not_asked),
        cmocka_unit_test(own_sandbox_is_started_for_its_conversation),
        cmocka_unit_test(requests_wait_in_slots),
        cmocka_unit_test(failures_are_told_as_a_bad_gateway),
    };

    (void)argc;
    test_need_postgres(argv);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
