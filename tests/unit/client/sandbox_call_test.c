/*
 * Calls to a sandbox, and how it is told its keys.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "client/http_fixture.h"
#include "client/sandbox_call.h"

#define SESSION_KEY "the session key"
#define INIT_KEY "the init key"
#define HIDDEN "a variable that nobody else may read"

static void set_endpoint(struct sandbox_endpoint *endpoint, struct test_server *server,
                         enum sandbox_keys keys)
{
    endpoint->url = mem_dup_text(test_server_url(server, ""));
    sandbox_endpoint_set_keys(endpoint, SESSION_KEY, keys);
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
    assert_non_null(strstr(heard, secret_reveal(&call_key)));
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
    assert_non_null(strstr(test_server_request(server, 0), SESSION_KEY));
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
    test_server_stop(server);
}

static int initialise(struct fixture *fixture, struct test_server *server)
{
    json_auto_t *environment = json_object();
    const struct sandbox_init init = {.url = test_server_url(server, ""),
                                      .init_key = INIT_KEY,
                                      .session_key = SESSION_KEY,
                                      .environment = environment,
                                      .timeout_ms = 60000};
    struct error err = ERROR_INIT;

    json_put_text(environment, "SECRET", HIDDEN);
    return sandbox_initialise(fixture->http, &init, &err);
}

static void server_that_waits_is_told_derived_keys(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint told = SANDBOX_ENDPOINT_INIT;
    CLEANUP(secret_done) struct secret init_proof = SECRET_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const char *heard = NULL;

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(initialise(*state, server), 0);
    heard = test_server_request(server, 0);
    sandbox_endpoint_set_keys(&told, SESSION_KEY, SANDBOX_KEYS_DERIVED);
    assert_non_null(strstr(heard, secret_reveal(&told.call_key)));
    assert_non_null(strstr(heard, secret_reveal(&told.proof_key)));
    assert_non_null(strstr(heard, HIDDEN));
    assert_null(strstr(heard, SESSION_KEY));
    test_server_stop(server);
}

static void server_without_the_init_key_is_told_nothing(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);

    assert_int_equal(initialise(*state, server), -1);
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

    sandbox_key_derive(INIT_KEY, SANDBOX_KEY_PROOF, &init_proof);
    test_server_prove(server, secret_reveal(&init_proof), NULL);
    assert_int_equal(initialise(*state, server), -1);
    assert_int_equal(test_server_n_requests(server), 1);
    test_server_stop(server);
}

static void endpoint_of_before_keeps_no_key_of_another(void **state)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;

    (void)state;
    sandbox_endpoint_set_keys(&endpoint, SESSION_KEY, SANDBOX_KEYS_DERIVED);
    assert_true(secret_is_set(&endpoint.proof_key));
    sandbox_endpoint_set_keys(&endpoint, "another", SANDBOX_KEYS_OLD);
    assert_false(secret_is_set(&endpoint.proof_key));
    assert_string_equal(secret_reveal(&endpoint.call_key), "another");
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
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_shows_the_call_key_and_its_headers),
        cmocka_unit_test(sandbox_from_before_is_shown_its_session_key),
        cmocka_unit_test(check_shows_no_key_and_wants_a_proof),
        cmocka_unit_test(server_that_waits_is_told_derived_keys),
        cmocka_unit_test(server_without_the_init_key_is_told_nothing),
        cmocka_unit_test(keys_that_were_sent_are_not_sent_again),
        cmocka_unit_test(endpoint_of_before_keeps_no_key_of_another),
        cmocka_unit_test(more_headers_than_there_is_room_for_are_refused),
    };

    return cmocka_run_group_tests_name("sandbox_call", tests, fixture_set_up, fixture_tear_down);
}
