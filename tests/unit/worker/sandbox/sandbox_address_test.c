/*
 * The address of a sandbox: asked for early, waited for late, and asked for again.
 */
#include "worker/agent/sandbox/sandbox_address.h"

#include <string.h>

#include "client/http.h"
#include "client/test_server.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/step_test.h"

#define REPLY(status, body)                                                                        \
    "HTTP/1.1 " status " x\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body
#define RUNNING                                                                                    \
    REPLY("200", "{\"status\": \"running\", \"url\": \"http://127.0.0.1:1\","                      \
                 " \"session_api_key\": \"k\", \"call_key\": \"c\","                               \
                 " \"runtime_id\": \"aaaaaaaaaaaaaaaa\"}")

/* An agent, and a server in place of the service that starts sandboxes. */
struct bench {
    struct claimed_agent claimed;
    struct test_server *server;
    struct sandbox_address address;
    const char *url; /* of the stub */
};

static void begin(struct bench *bench, void **state, const struct test_reply *replies, size_t n)
{
    struct run_fixture *fixture = *state;

    step_begin(&bench->claimed, state, "{}");
    bench->server = test_server_start(replies, n, NULL);
    bench->url = fixture->context.settings.runtime_url;
    fixture->context.settings.runtime_url = test_server_url(bench->server, "");
    sandbox_address_init(&bench->address, &bench->claimed.agent);
}

static void end(struct bench *bench)
{
    sandbox_address_done(&bench->address);
    bench->claimed.fixture->context.settings.runtime_url = bench->url;
    claimed_agent_end(&bench->claimed);
    test_server_stop(bench->server);
}

static void address_is_asked_for_once(void **state)
{
    static const struct test_reply reply = {.bytes = RUNNING, .ending = TEST_CLOSE};
    struct bench bench;
    const char *sent = NULL;
    struct error err = ERROR_INIT;

    begin(&bench, state, &reply, 1);
    assert_false(sandbox_address_is_known(&bench.address));
    sandbox_address_begin(&bench.address);
    sandbox_address_begin(&bench.address);
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    sandbox_address_begin(&bench.address);
    assert_true(sandbox_address_is_known(&bench.address));
    assert_string_equal(bench.address.endpoint.runtime_id, "aaaaaaaaaaaaaaaa");
    assert_int_equal(test_server_n_requests(bench.server), 1);
    sent = test_server_request(bench.server, 0);
    assert_non_null(strstr(sent, "POST /start HTTP/1.1\r\n"));
    assert_non_null(strstr(sent, "runtime-key"));
    assert_non_null(strstr(sent, "\"u-test\""));
    assert_non_null(strstr(sent, "\"test:1\""));
    assert_non_null(strstr(sent, bench.claimed.fixture->user_id.text));
    assert_null(strstr(sent, bench.claimed.agent.conversation.id.text));
    assert_null(strstr(sent, "\"is_doubted\":true"));
    end(&bench);
}

static void own_sandbox_names_its_conversation(void **state)
{
    static const struct test_reply reply = {.bytes = RUNNING, .ending = TEST_CLOSE};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, &reply, 1);
    bench.claimed.agent.conversation.runtime_kind = RUNTIME_DOCKER;
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    assert_non_null(
        strstr(test_server_request(bench.server, 0), bench.claimed.agent.conversation.id.text));
    end(&bench);
}

static void sandbox_that_did_not_answer_is_doubted_until_it_is_found(void **state)
{
    static const struct test_reply reply = {.bytes = RUNNING, .ending = TEST_CLOSE};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, &reply, 1);
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    sandbox_address_forget(&bench.address);
    assert_false(sandbox_address_is_known(&bench.address));
    assert_string_equal(bench.address.endpoint.runtime_id, "aaaaaaaaaaaaaaaa");
    assert_true(bench.address.is_doubted);
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    assert_int_equal(test_server_n_requests(bench.server), 2);
    assert_non_null(strstr(test_server_request(bench.server, 1), "\"is_doubted\":true"));
    assert_false(bench.address.is_doubted);
    end(&bench);
}

static void service_that_restarts_is_waited_for(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("503", "{}"), .ending = TEST_CLOSE},
                                                {.bytes = RUNNING, .ending = TEST_CLOSE}};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 2);
    step_check(sandbox_address_wait(&bench.address, &err), &err);
    assert_int_equal(test_server_n_requests(bench.server), 2);
    end(&bench);
}

static void refusal_is_final_and_told_in_words(void **state)
{
    static const struct test_reply reply = {
        .bytes = REPLY("200", "{\"status\": \"error\", \"status_detail\": \"image missing\"}"),
        .ending = TEST_CLOSE};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, &reply, 1);
    assert_int_equal(sandbox_address_wait(&bench.address, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "The sandbox could not be started: "));
    assert_non_null(strstr(err.message, "image missing"));
    assert_int_equal(test_server_n_requests(bench.server), 1);
    end(&bench);
}

static void stop_leaves_the_request_to_the_next_wait(void **state)
{
    static const struct test_reply reply = {.bytes = RUNNING, .ending = TEST_CLOSE};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, &reply, 1);
    sandbox_address_begin(&bench.address);
    run_control_request(&bench.claimed.control, STOP_INTERRUPT);
    assert_int_equal(sandbox_address_wait(&bench.address, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    assert_non_null(bench.address.call);
    assert_false(sandbox_address_is_known(&bench.address));
    end(&bench);
}

static void running_sandbox_is_found_without_a_start(void **state)
{
    static const struct test_reply replies[] = {{.bytes = REPLY("404", "{}"), .ending = TEST_CLOSE},
                                                {.bytes = RUNNING, .ending = TEST_CLOSE}};
    struct bench bench;
    struct error err = ERROR_INIT;

    begin(&bench, state, replies, 2);
    assert_int_equal(sandbox_address_find(&bench.address, 10000, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    step_check(sandbox_address_find(&bench.address, 10000, &err), &err);
    step_check(sandbox_address_find(&bench.address, 10000, &err), &err);
    assert_int_equal(test_server_n_requests(bench.server), 2);
    assert_non_null(strstr(test_server_request(bench.server, 0), "GET /sessions/u-test"));
    assert_true(sandbox_address_is_known(&bench.address));
    end(&bench);
}

int sandbox_address_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_asked_for_once),
        cmocka_unit_test(own_sandbox_names_its_conversation),
        cmocka_unit_test(sandbox_that_did_not_answer_is_doubted_until_it_is_found),
        cmocka_unit_test(service_that_restarts_is_waited_for),
        cmocka_unit_test(refusal_is_final_and_told_in_words),
        cmocka_unit_test(stop_leaves_the_request_to_the_next_wait),
        cmocka_unit_test(running_sandbox_is_found_without_a_start),
    };

    return cmocka_run_group_tests_name("worker/sandbox_address", tests, run_fixture_set_up,
                                       run_fixture_tear_down);
}
