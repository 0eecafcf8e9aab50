/*
 * Calls to a sandbox, and how it is told its keys.
 */
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/strbuf.h"
#include "client/http_call.h"
#include "client/http_fixture.h"
#include "client/sandbox_call.h"
#include "support/json_path.h"

#define SESSION_KEY "the session key"
#define INIT_KEY "the init key"
#define HIDDEN "a variable that nobody else may read"

static void set_endpoint(struct sandbox_endpoint *endpoint, struct test_server *server,
                         enum sandbox_keys keys)
{
    endpoint->url = mem_dup_text(test_server_url(server, ""));
    sandbox_endpoint_set_keys(endpoint, SESSION_KEY, keys);
}

static bool has_header(const char *request, const char *name, const char *value)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    strbuf_appendf(&line, "\r\n%s: %s\r\n", name, value);
    return strstr(request, line.text) != NULL;
}

static void call_shows_the_call_key_and_its_headers(void **state)
{
    static const struct http_header headers[] = {{"X-Deft-Fence", "7"}, {NULL, NULL}};
    const struct http_request request = {
        .method = "GET", .url = "/a?b=c", .headers = headers, .timeout_ms = 60000};
    struct fixture *fixture = *state;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    CLEANUP(secret_done) struct secret call_key = SECRET_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct error err = ERROR_INIT;
    const char *heard = NULL;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_DERIVED);
    test_server_prove(server, secret_reveal(&endpoint.proof_key), NULL);
    assert_int_equal(sandbox_call_start(fixture->http, &endpoint, &request, &call, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
    heard = test_server_request(server, 0);
    sandbox_key_derive(SESSION_KEY, SANDBOX_KEY_CALL, &call_key);
    assert_non_null(strstr(heard, "GET /a?b=c "));
    assert_non_null(strstr(heard, "X-Deft-Fence: 7"));
    assert_true(has_header(heard, "X-Session-API-Key", secret_reveal(&call_key)));
    assert_null(strstr(heard, SESSION_KEY));
    assert_null(strstr(heard, secret_reveal(&endpoint.proof_key)));
    test_server_stop(server);
}

static void sandbox_from_before_is_shown_its_session_key(void **state)
{
    const struct http_request request = {.method = "GET", .url = "/", .timeout_ms = 60000};
    struct fixture *fixture = *state;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct error err = ERROR_INIT;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_OLD);
    assert_int_equal(sandbox_call_start(fixture->http, &endpoint, &request, &call, &err), 0);
    assert_int_equal(http_wait(call, &err), 0);
    assert_true(has_header(test_server_request(server, 0), "X-Session-API-Key", SESSION_KEY));
    test_server_stop(server);
}

static void check_shows_no_key_and_wants_a_proof(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct error err = ERROR_INIT;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_DERIVED);
    assert_int_equal(sandbox_check_alive(fixture->http, &endpoint, 60000, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.message, "did not authenticate"));
    test_server_prove(server, secret_reveal(&endpoint.proof_key), NULL);
    assert_int_equal(sandbox_check_alive(fixture->http, &endpoint, 60000, &err), 0);
    assert_null(strstr(test_server_request(server, 1), secret_reveal(&endpoint.call_key)));
    assert_int_equal(strncmp(test_server_request(server, 1), "GET /alive HTTP/1.1\r\n", 21), 0);
    test_server_stop(server);
}

/* Of a sandbox from before, whose server proves nothing. */
static enum error_code check_alive_of(const struct fixture *fixture, const char *bytes,
                                      struct error *err)
{
    const struct test_reply reply = {.bytes = bytes, .ending = TEST_CLOSE};
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    struct test_server *server = test_server_start(&reply, 1, NULL);
    int rc = 0;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_OLD);
    rc = sandbox_check_alive(fixture->http, &endpoint, 60000, err);
    assert_int_equal(rc, err->code == ERROR_NONE ? 0 : -1);
    test_server_stop(server);
    return err->code;
}

#define EMPTY "\r\nContent-Length: 0\r\n\r\n"

static void sandbox_is_alive_if_it_says_so(void **state)
{
    struct error alive = ERROR_INIT;
    struct error dead = ERROR_INIT;
    struct error broken = ERROR_INIT;
    struct error large = ERROR_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    assert_int_equal(check_alive_of(*state, "HTTP/1.1 200 OK" EMPTY, &alive), ERROR_NONE);
    assert_int_equal(check_alive_of(*state, "HTTP/1.1 204 No Content\r\n\r\n", &dead),
                     ERROR_UNAVAILABLE);
    assert_string_equal(dead.message, "the sandbox is not alive");
    assert_int_equal(check_alive_of(*state, "HTTP/1.1 999 Odd" EMPTY, &broken), ERROR_UNAVAILABLE);
    strbuf_append(&text, "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n");
    for (int i = 0; i < 4097; i++)
        strbuf_append_char(&text, 'x');
    /* Whatever is wrong, the sandbox cannot be used. */
    assert_int_equal(check_alive_of(*state, text.text, &large), ERROR_UNAVAILABLE);
    assert_string_equal(large.message, "the response is longer than 4096 bytes");
}

static void endpoint_without_an_address_is_not_called(void **state)
{
    const struct http_request request = {.method = "GET", .url = "/", .timeout_ms = 60000};
    const struct sandbox_endpoint nowhere = SANDBOX_ENDPOINT_INIT;
    struct fixture *fixture = *state;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(sandbox_call_start(fixture->http, &nowhere, &request, &call, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "the sandbox has no address yet");
    assert_null(call);
}

static void probe_is_over_in_its_time(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    int64_t begun_ms = clock_monotonic_ms();
    struct error err = ERROR_INIT;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_OLD);
    assert_int_equal(sandbox_probe_start(fixture->http, &endpoint, 5000, &call, &err), 0);
    assert_true(call->deadline_ms >= begun_ms + 5000);
    assert_true(call->deadline_ms <= clock_monotonic_ms() + 5000);
    http_call_freep(&call);
    test_server_stop(server);
}

static int initialise(struct fixture *fixture, struct test_server *server, struct error *err)
{
    json_auto_t *environment = json_object();
    const struct sandbox_init init = {.url = test_server_url(server, ""),
                                      .init_key = INIT_KEY,
                                      .session_key = SESSION_KEY,
                                      .environment = environment,
                                      .timeout_ms = 60000};

    json_put_text(environment, "SECRET", HIDDEN);
    return sandbox_initialise(fixture->http, &init, err);
}

static void server_that_waits_is_told_derived_keys(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint told = SANDBOX_ENDPOINT_INIT;
    CLEANUP(secret_done) struct secret init_proof = SECRET_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct error err = ERROR_INIT;
    const char *heard = NULL;

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(initialise(*state, server, &err), 0);
    heard = test_server_request(server, 0);
    assert_int_equal(strncmp(heard, "POST /api/init HTTP/1.1\r\n", 25), 0);
    assert_true(has_header(heard, "X-Init-API-Key", INIT_KEY));
    sandbox_endpoint_set_keys(&told, SESSION_KEY, SANDBOX_KEYS_DERIVED);
    strbuf_appendf(&body,
                   "{\"session_api_keys\":[\"%s\"],\"proof_key\":\"%s\","
                   "\"env\":{\"SECRET\":\"" HIDDEN "\"}}",
                   secret_reveal(&told.call_key), secret_reveal(&told.proof_key));
    assert_json_at(strstr(heard, "\r\n\r\n") + 4, "", body.text);
    assert_null(strstr(heard, SESSION_KEY));
    test_server_stop(server);
}

static void environment_is_left_out_if_there_is_none(void **state)
{
    CLEANUP(secret_done) struct secret init_proof = SECRET_INIT;
    struct fixture *fixture = *state;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const struct sandbox_init init = {.url = test_server_url(server, ""),
                                      .init_key = INIT_KEY,
                                      .session_key = SESSION_KEY,
                                      .timeout_ms = 60000};
    struct error err = ERROR_INIT;

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(sandbox_initialise(fixture->http, &init, &err), 0);
    assert_json_at(strstr(test_server_request(server, 0), "\r\n\r\n") + 4, "env", NULL);
    test_server_stop(server);
}

static void server_that_refuses_its_keys_is_unavailable(void **state)
{
    static const struct test_reply no = {.bytes = "HTTP/1.1 201 Odd" EMPTY};
    CLEANUP(secret_done) struct secret init_proof = SECRET_INIT;
    struct test_server *server = test_server_start(&no, 1, NULL);
    struct error err = ERROR_INIT;

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(initialise(*state, server, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "the sandbox answered 201");
    test_server_stop(server);
}

/* Nothing was sent, so it can be tried once more; another failure is not tried again. */
static void server_that_is_not_reached_is_tried_twice(void **state)
{
    static const struct test_reply hangs_up[] = {{.bytes = "", .ending = TEST_RESET}};
    struct test_server *server = test_server_start(hangs_up, 1, NULL);
    struct error err = ERROR_INIT;

    assert_int_equal(initialise(*state, server, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(test_server_n_connections(server), 2);
    test_server_stop(server);
}

static void server_without_the_init_key_is_told_nothing(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct error err = ERROR_INIT;

    assert_int_equal(initialise(*state, server, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    for (size_t i = 0; i < test_server_n_requests(server); i++) {
        const char *heard = test_server_request(server, i);

        assert_non_null(strstr(heard, "GET " SANDBOX_PROOF_PATH " "));
        assert_null(strstr(heard, INIT_KEY));
        assert_null(strstr(heard, HIDDEN));
    }
    test_server_stop(server);
}

/* It may have taken effect. */
static void keys_that_were_sent_are_not_sent_again(void **state)
{
    static const struct test_reply hangs_up[] = {{.bytes = "", .ending = TEST_RESET}};
    CLEANUP(secret_done) struct secret init_proof = SECRET_INIT;
    struct test_server *server = test_server_start(hangs_up, 1, NULL);
    struct error err = ERROR_INIT;

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(initialise(*state, server, &err), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static void endpoint_of_before_keeps_no_key_of_another(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

    (void)state;
    sandbox_endpoint_set_keys(&endpoint, SESSION_KEY, SANDBOX_KEYS_DERIVED);
    assert_true(secret_is_set(&endpoint.proof_key));
    assert_string_equal(secret_reveal(&endpoint.session_key), SESSION_KEY);
    sandbox_endpoint_set_keys(&endpoint, "another", SANDBOX_KEYS_OLD);
    assert_false(secret_is_set(&endpoint.proof_key));
    assert_string_equal(secret_reveal(&endpoint.session_key), "another");
    assert_string_equal(secret_reveal(&endpoint.call_key), "another");
    sandbox_endpoint_done(&endpoint);
    assert_false(secret_is_set(&endpoint.session_key));
    assert_false(secret_is_set(&endpoint.call_key));
    assert_null(endpoint.url);
    sandbox_endpoint_done(NULL);
}

static void more_headers_than_there_is_room_for_are_refused(void **state)
{
    struct http_header headers[SANDBOX_HEADERS_MAX + 2] = {{NULL, NULL}};
    const struct http_request request = {
        .method = "GET", .url = "/", .headers = headers, .timeout_ms = 60000};
    struct fixture *fixture = *state;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    CLEANUP(http_call_freep) struct http_call *most = NULL;
    CLEANUP(http_call_freep) struct http_call *more = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct error err = ERROR_INIT;

    set_endpoint(&endpoint, server, SANDBOX_KEYS_OLD);
    for (size_t i = 0; i < SANDBOX_HEADERS_MAX; i++)
        headers[i] = (struct http_header){"X-Some", "1"};
    assert_int_equal(sandbox_call_start(fixture->http, &endpoint, &request, &most, &err), 0);
    assert_int_equal(http_wait(most, &err), 0);
    headers[SANDBOX_HEADERS_MAX] = (struct http_header){"X-Some", "1"};
    assert_int_equal(sandbox_call_start(fixture->http, &endpoint, &request, &more, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_shows_the_call_key_and_its_headers),
        cmocka_unit_test(sandbox_from_before_is_shown_its_session_key),
        cmocka_unit_test(check_shows_no_key_and_wants_a_proof),
        cmocka_unit_test(sandbox_is_alive_if_it_says_so),
        cmocka_unit_test(endpoint_without_an_address_is_not_called),
        cmocka_unit_test(probe_is_over_in_its_time),
        cmocka_unit_test(server_that_waits_is_told_derived_keys),
        cmocka_unit_test(environment_is_left_out_if_there_is_none),
        cmocka_unit_test(server_that_refuses_its_keys_is_unavailable),
        cmocka_unit_test(server_that_is_not_reached_is_tried_twice),
        cmocka_unit_test(server_without_the_init_key_is_told_nothing),
        cmocka_unit_test(keys_that_were_sent_are_not_sent_again),
        cmocka_unit_test(endpoint_of_before_keeps_no_key_of_another),
        cmocka_unit_test(more_headers_than_there_is_room_for_are_refused),
    };

    return cmocka_run_group_tests_name("sandbox_call", tests, fixture_set_up, fixture_tear_down);
}
