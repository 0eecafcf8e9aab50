/*
 * One request to the server in a sandbox: what is sent, what its replies mean, and when it counts
 * as hung.
 */
#include "worker/agent/sandbox/sandbox_http.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/http.h"
#include "client/sandbox_call.h"
#include "client/test_server.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/side_wait.h"
#include "worker/agent_test.h"
#include "worker/events.h"

/* Also the timeout of a poll, which must not pass on a busy machine. */
enum { TIMEOUT_MS = 20000, CHECK_MS = 1000 };

#define UNUSED_SCRIPT "{\"turns\": [{\"steps\": [{\"text\": \"unused\"}]}]}"
#define REPLY(status, body)                                                                        \
    "HTTP/1.1 " status " x\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body

/* An agent, and a server in place of its sandbox's. */
struct bench {
    struct claimed_agent claimed;
    struct test_server *server;
    struct sandbox_endpoint endpoint;
};

static void begin(struct bench *bench, void **state, const struct test_reply *replies, size_t n)
{
    struct uuid id = run_new_conversation(*state, UNUSED_SCRIPT, "{}");

    claimed_agent_begin(&bench->claimed, *state, &id);
    bench->server = test_server_start(replies, n, NULL);
    bench->endpoint = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
    bench->endpoint.url = mem_dup_text(test_server_url(bench->server, ""));
    secret_set(&bench->endpoint.session_key, "owners-key");
    secret_set(&bench->endpoint.call_key, "call-key");
}

static void end(struct bench *bench)
{
    sandbox_endpoint_done(&bench->endpoint);
    claimed_agent_end(&bench->claimed);
    test_server_stop(bench->server);
}

/* Sends a request and waits for its reply. */
static int ask(struct bench *bench, const struct sandbox_http_request *question,
               struct http_call **call_out, struct error *err)
{
    const struct agent *agent = &bench->claimed.agent;

    if (sandbox_http_start(agent, &bench->endpoint, question, call_out, err) < 0)
        return -1;
    return sandbox_http_wait(agent, *call_out, err);
}

static void request_names_its_conversation_and_lease(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("200", "{}"), .ending = TEST_CLOSE}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(http_call_freep) struct http_call *bare = NULL;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    json_auto_t *content = test_json("{\"a\":1}");
    struct bench bench;
    const char *sent = NULL;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 1);
    bench.claimed.agent.lease.fence = 4711;
    assert_int_equal(
        ask(&bench,
            &(struct sandbox_http_request){
                .method = "PUT", .path = "/x", .content = content, .timeout_ms = TIMEOUT_MS},
            &call, &err),
        0);
    assert_null(bench.claimed.control.cancel);
    sent = test_server_request(bench.server, 0);
    assert_non_null(strstr(sent, "PUT /x HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "X-Deft-Fence: 4711\r\n"));
    strbuf_appendf(&line, "X-Deft-Conversation: %s\r\n",
                   bench.claimed.agent.lease.conversation_id.text);
    assert_non_null(strstr(sent, line.text));
    assert_non_null(strstr(sent, "call-key"));
    assert_null(strstr(sent, "owners-key"));
    assert_string_equal(strstr(sent, "\r\n\r\n") + 4, "{\"a\":1}");
    assert_int_equal(
        ask(&bench,
            &(struct sandbox_http_request){.method = "GET", .path = "/y", .timeout_ms = TIMEOUT_MS},
            &bare, &err),
        0);
    assert_string_equal(strstr(test_server_request(bench.server, 1), "\r\n\r\n") + 4, "");
    end(&bench);
}

static void each_refusal_has_its_code(void **state)
{
    static const struct {
        const char *reply;
        enum error_code code;
        const char *message;
    } cases[] = {
        {REPLY("409", "{\"detail\": \"stale\"}"), ERROR_CONFLICT,
         "the sandbox refused the call: stale"},
        {REPLY("400", "{\"detail\": \"bad\"}"), ERROR_INVALID, "the sandbox refused the call: bad"},
        {REPLY("413", "{\"detail\": \"big\"}"), ERROR_INVALID, "the sandbox refused the call: big"},
        {REPLY("429", "{\"detail\": \"many\"}"), ERROR_INVALID,
         "the sandbox refused the call: many"},
        {REPLY("401", "not JSON"), ERROR_UNAVAILABLE, "the sandbox replied with status 401 "},
        {REPLY("503", "{\"detail\": \"busy\"}"), ERROR_UNAVAILABLE,
         "the sandbox replied with status 503 busy"},
        {REPLY("404", "{\"detail\": 7}"), ERROR_UNAVAILABLE,
         "the sandbox replied with status 404 "},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct test_reply reply = {.bytes = cases[i].reply, .ending = TEST_CLOSE};
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct bench bench;
        struct error err = ERROR_INIT;

        begin(&bench, state, &reply, 1);
        assert_int_equal(ask(&bench,
                             &(struct sandbox_http_request){
                                 .method = "GET", .path = "/x", .timeout_ms = TIMEOUT_MS},
                             &call, &err),
                         0);
        assert_int_equal(sandbox_http_refusal(call, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.message, cases[i].message);
        end(&bench);
    }
}

/* Short requests are fast: one that is late did not reach the sandbox. */
static void short_request_that_is_late_is_unreached(void **state)
{
    static const struct test_reply replies[] = {{.bytes = "HTTP", .ending = TEST_HOLD}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 1);
    assert_int_equal(
        ask(&bench,
            &(struct sandbox_http_request){.method = "GET", .path = "/x", .timeout_ms = 100}, &call,
            &err),
        -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    end(&bench);
}

static void stop_request_ends_a_wait(void **state)
{
    static const struct test_reply replies[] = {{.bytes = "HTTP", .ending = TEST_HOLD}};
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    const struct sandbox_http_request question = {
        .method = "GET", .path = "/x", .timeout_ms = TIMEOUT_MS, .is_watched = true};
    struct sandbox_exchange *exchanges[] = {&exchange};
    struct bench bench;
    struct error err = ERROR_INIT;
    size_t index = 7;

    begin(&bench, state, replies, 1);
    run_control_request(&bench.claimed.control, STOP_INTERRUPT);
    assert_int_equal(ask(&bench, &question, &call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(
        sandbox_exchange_begin(&bench.claimed.agent, &bench.endpoint, &question, &exchange, &err),
        0);
    assert_int_equal(
        sandbox_http_watch(&bench.claimed.agent, &bench.endpoint, exchanges, 1, &index, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_int_equal(index, 7);
    end(&bench);
}

/* --- a watched request --- */

/* Watches one request to its end. */
static int watch(struct bench *bench, int64_t timeout_ms, struct sandbox_exchange *exchange,
                 struct error *err)
{
    const struct sandbox_http_request question = {
        .method = "PUT", .path = "/actions/1", .timeout_ms = timeout_ms, .is_watched = true};
    struct agent *agent = &bench->claimed.agent;
    size_t index = 7;
    int rc = 0;

    agent->context->settings.sandbox_check_ms = CHECK_MS;
    assert_int_equal(sandbox_exchange_begin(agent, &bench->endpoint, &question, exchange, err), 0);
    assert_int_equal(sandbox_http_watch(agent, &bench->endpoint, &exchange, 1, &index, err), 0);
    assert_int_equal(index, 0);
    rc = sandbox_exchange_end(exchange, err);
    exchange->question = NULL;
    return rc;
}

static void action_that_is_reported_as_running_is_waited_for(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("200", "{\"state\": \"finished\"}"),
         .delay_ms = CHECK_MS * 3 / 2,
         .ending = TEST_CLOSE},
        {.bytes = REPLY("200", "{\"state\": \"running\"}"), .ending = TEST_CLOSE}};
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 2);
    assert_int_equal(watch(&bench, TIMEOUT_MS, &exchange, &err), 0);
    /* A later stop has nothing to cancel. */
    assert_null(bench.claimed.control.cancel);
    assert_int_equal(http_status(exchange.call), 200);
    assert_int_equal(exchange.n_silences, 0);
    assert_true(test_server_n_requests(bench.server) > 1);
    assert_non_null(strstr(test_server_request(bench.server, 1), "GET /actions/1 HTTP/1.1\r\n"));
    end(&bench);
}

/* --- with a request of another on its side --- */

static bool has_not_ended(void *call)
{
    (void)call;
    return false;
}

static void cancel_nothing(void *call)
{
    (void)call;
}

static int64_t wait_for_it_too(void *call, struct http_call **request_out)
{
    *request_out = call;
    return INT64_MAX;
}

/* It is no action, whether it is over or not. */
static void action_is_waited_for_next_to_another_request(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("200", "{\"state\": \"finished\"}"),
         .delay_ms = CHECK_MS * 3 / 2,
         .ending = TEST_CLOSE},
        {.bytes = REPLY("200", "{\"state\": \"running\"}"), .ending = TEST_CLOSE}};
    static const struct test_reply silent = {.bytes = "", .ending = TEST_HOLD};
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    CLEANUP(http_call_freep) struct http_call *other = NULL;
    struct side_wait side = {has_not_ended, cancel_nothing, wait_for_it_too, NULL};
    struct test_server *server = test_server_start(&silent, 1, NULL);
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 2);
    assert_int_equal(http_start(bench.claimed.agent.context->http,
                                &(struct http_request){.method = "GET",
                                                       .url = test_server_url(server, "/"),
                                                       .address_of = ADDRESS_OF_ADMINISTRATOR},
                                &other, &err),
                     0);
    side.what = other;
    bench.claimed.agent.side = &side;
    assert_int_equal(watch(&bench, TIMEOUT_MS, &exchange, &err), 0);
    bench.claimed.agent.side = NULL;
    assert_int_equal(http_status(exchange.call), 200);
    end(&bench);
    http_call_freep(&other);
    test_server_stop(server);
}

/* Three polls in a row without "running", each a second after the one before it. */
static void action_that_does_not_run_hangs(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP", .ending = TEST_HOLD},
        {.bytes = REPLY("200", "{\"state\": \"unknown\"}"), .ending = TEST_CLOSE},
        {.bytes = REPLY("500", "{\"state\": \"running\"}"), .ending = TEST_CLOSE},
        {.bytes = REPLY("200", "nonsense"), .ending = TEST_CLOSE}};
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    struct bench bench;
    int64_t began_ms = 0;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 4);
    began_ms = clock_monotonic_ms();
    assert_int_equal(watch(&bench, TIMEOUT_MS, &exchange, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "it stopped responding");
    assert_int_equal(exchange.n_silences, 3);
    assert_int_equal(test_server_n_requests(bench.server), 4);
    assert_true(clock_monotonic_ms() - began_ms >= CHECK_MS + 2000);
    end(&bench);
}

static void one_silence_is_forgiven(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = REPLY("200", "{\"state\": \"finished\"}"),
         .delay_ms = CHECK_MS * 5 / 2,
         .ending = TEST_CLOSE},
        {.bytes = REPLY("500", ""), .ending = TEST_CLOSE},
        {.bytes = REPLY("200", "{\"state\": \"running\"}"), .ending = TEST_CLOSE}};
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 3);
    assert_int_equal(watch(&bench, TIMEOUT_MS, &exchange, &err), 0);
    assert_int_equal(exchange.n_silences, 0);
    end(&bench);
}

/* The action ran as long as it may. */
static void action_that_takes_too_long_times_out(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = "HTTP", .ending = TEST_HOLD},
        {.bytes = REPLY("200", "{\"state\": \"running\"}"), .ending = TEST_CLOSE}};
    CLEANUP(sandbox_exchange_done) struct sandbox_exchange exchange = {.call = NULL};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 2);
    assert_int_equal(watch(&bench, 2 * CHECK_MS, &exchange, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    end(&bench);
}

static void states_are_read_by_their_words(void **state)
{
    static const struct {
        const char *reply;
        enum sandbox_state state;
    } cases[] = {{"{\"state\": \"unknown\"}", SANDBOX_UNKNOWN},
                 {"{\"state\": \"running\"}", SANDBOX_RUNNING},
                 {"{\"state\": \"finished\"}", SANDBOX_FINISHED},
                 {"{\"state\": \"interrupted\"}", SANDBOX_INTERRUPTED}};
    static const char *const wrong[] = {"{}", "{\"state\": 1}", "{\"state\": \"Running\"}", "[]"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_auto_t *reply = test_json(cases[i].reply);
        enum sandbox_state read =
            cases[i].state == SANDBOX_RUNNING ? SANDBOX_UNKNOWN : SANDBOX_RUNNING;
        struct error err = ERROR_INIT;

        assert_int_equal(sandbox_state_read(reply, &read, &err), 0);
        assert_int_equal(read, cases[i].state);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_auto_t *reply = test_json(wrong[i]);
        enum sandbox_state read = SANDBOX_FINISHED;
        struct error err = ERROR_INIT;

        assert_int_equal(sandbox_state_read(reply, &read, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(read, SANDBOX_FINISHED);
    }
}

int sandbox_http_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_names_its_conversation_and_lease),
        cmocka_unit_test(each_refusal_has_its_code),
        cmocka_unit_test(short_request_that_is_late_is_unreached),
        cmocka_unit_test(stop_request_ends_a_wait),
        cmocka_unit_test(action_that_is_reported_as_running_is_waited_for),
        cmocka_unit_test(action_is_waited_for_next_to_another_request),
        cmocka_unit_test(action_that_does_not_run_hangs),
        cmocka_unit_test(one_silence_is_forgiven),
        cmocka_unit_test(action_that_takes_too_long_times_out),
        cmocka_unit_test(states_are_read_by_their_words),
    };

    return cmocka_run_group_tests_name("worker/sandbox_http", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
