/*
 * A server that must prove itself, before it is sent anything.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "client/http_fixture.h"
#include "client/tcp.h"

#define PROOF_KEY "the proof key"
#define BODY "{\"a\":\"body that nobody else may read\"}"

static const struct http_header headers[] = {{"X-Session-API-Key", "the call key"}, {NULL, NULL}};

static struct http_request question(const char *url, const struct secret *key)
{
    struct http_request request = fixture_get(url);

    request.method = "POST";
    request.headers = headers;
    request.body = BODY;
    request.body_len = strlen(BODY);
    request.proof_key = key;
    return request;
}

static void server_with_the_key_gets_the_request(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = question(test_server_url(server, "/x"), &key);

    secret_set(&key, PROOF_KEY);
    test_server_prove(server, PROOF_KEY, NULL);
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_int_equal(http_status(call), 200);
    assert_false(http_is_unproven(call));
    assert_int_equal(test_server_n_proofs(server), 1);
    assert_int_equal(test_server_n_connections(server), 1);
    assert_non_null(strstr(test_server_request(server, 0), "POST /x "));
    assert_non_null(strstr(test_server_request(server, 0), BODY));
    test_server_stop(server);
}

/* Nothing but a question with a nonce was heard. */
static void assert_heard_nothing(struct test_server *server)
{
    assert_true(test_server_n_requests(server) <= 1);
    assert_null(strstr(test_server_request(server, 0), "the call key"));
    assert_null(strstr(test_server_request(server, 0), "body that"));
}

#define LENGTH(n) OK_HEAD "Content-Length: " n "\r\n\r\n"

static void another_server_hears_nothing(void **state)
{
    static const struct test_reply impostors[] = {
        {.bytes = NULL},
        {.bytes = LENGTH("2") "{}"},
        {.bytes = LENGTH("12") "{\"proof\":\"\"}"},
        {.bytes = LENGTH("11") "{\"proof\":1}"},
        {.bytes = LENGTH("76") "{\"proof\":\"00112233445566778899aabbccddeeff"
                               "00112233445566778899aabbccddeeff\"}"},
        {.bytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"},
        {.bytes = "SSH-2.0-OpenSSH_9.2\r\n"},
        {.bytes = LENGTH("100") "{", .ending = TEST_CLOSE},
        {.bytes = OK_HEAD "\r\n", .ending = TEST_CLOSE},
        {.bytes = "aaaaaaaaaaaaaaaa", .n_times = 100000},
        {.bytes = OK_HEAD "X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", .n_times = 10000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(impostors); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct test_server *server = test_server_start(&impostors[i], 1, NULL);
        struct http_request request = question(test_server_url(server, "/x"), &key);

        secret_set(&key, PROOF_KEY);
        assert_int_equal(fixture_run(*state, &request, &call), ERROR_UNAVAILABLE);
        assert_true(http_is_unproven(call));
        assert_true(http_is_unreached(call));
        assert_heard_nothing(server);
        test_server_stop(server);
    }
}

static void server_with_another_key_or_place_hears_nothing(void **state)
{
    static const struct {
        const char *key;
        const char *address;
    } proofs[] = {{"another key", NULL}, {PROOF_KEY, "127.0.0.1:1"}, {PROOF_KEY, ""}};

    for (size_t i = 0; i < ARRAY_SIZE(proofs); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct test_server *server = test_server_start(plain_reply, 1, NULL);
        struct http_request request = question(test_server_url(server, "/x"), &key);

        secret_set(&key, PROOF_KEY);
        test_server_prove(server, proofs[i].key, proofs[i].address);
        assert_int_equal(fixture_run(*state, &request, &call), ERROR_UNAVAILABLE);
        assert_true(http_is_unproven(call));
        assert_int_equal(test_server_n_requests(server), 0);
        test_server_stop(server);
    }
}

/* It may still be the right one. */
static void server_that_is_silent_or_away_is_not_called_another(void **state)
{
    static const struct test_reply hangs_up[] = {{.bytes = "", .ending = TEST_RESET}};
    const struct test_reply *const replies[] = {silent_reply, hangs_up};

    for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct test_server *server = test_server_start(replies[i], 1, NULL);
        struct http_request request = question(test_server_url(server, "/x"), &key);

        secret_set(&key, PROOF_KEY);
        request.timeout_ms = 300;
        assert_int_equal(fixture_run(*state, &request, &call), ERROR_UNAVAILABLE);
        assert_false(http_is_unproven(call));
        assert_true(http_is_unreached(call));
        assert_heard_nothing(server);
        test_server_stop(server);
    }
}

enum { FILLERS = 8 };

/* A server that accepts nothing, and whose queue is full: a further connection is not made. */
struct full_server {
    int listening;
    int fillers[FILLERS];
    char url[64];
};

static void full_server_start(struct full_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    server->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listening < 0 ||
        bind(server->listening, (const struct sockaddr *)&address, len) < 0 ||
        listen(server->listening, 0) < 0 ||
        getsockname(server->listening, (struct sockaddr *)&address, &len) < 0)
        fail_msg("%m");
    for (size_t i = 0; i < FILLERS; i++) {
        server->fillers[i] = tcp_open(&address);
        assert_true(server->fillers[i] >= 0);
    }
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u/",
                   ntohs(address.sin_port));
}

static void full_server_stop(struct full_server *server)
{
    for (size_t i = 0; i < FILLERS; i++)
        fd_close(&server->fillers[i]);
    fd_close(&server->listening);
}

static void server_that_accepts_nothing_is_left_in_time(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct full_server server;

    secret_set(&key, PROOF_KEY);
    full_server_start(&server);
    for (int proves = 0; proves < 2; proves++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = question(server.url, proves ? &key : NULL);
        struct error err = ERROR_INIT;

        request.timeout_ms = 200;
        assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
        assert_int_equal(http_wait(call, &err), -1);
        assert_int_equal(err.code, proves ? ERROR_UNAVAILABLE : ERROR_TIMEOUT);
        assert_string_equal(err.message, proves
                                             ? "the sandbox's server did not authenticate in time"
                                             : "no response in time");
    }
    full_server_stop(&server);
}

static void url_without_an_address_is_refused(void **state)
{
    static const char *const urls[] = {"http://localhost:8000/", "https://127.0.0.1/",
                                       "http://[::1]:8000/"};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct http_request request = question(urls[i], &key);

        secret_set(&key, PROOF_KEY);
        assert_int_equal(fixture_run(fixture, &request, &call), ERROR_UNAVAILABLE);
    }
}

/* The owner of the address is checked before connecting. */
static void private_address_of_another_is_not_asked_for_a_proof(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = question(test_server_url(server, "/x"), &key);

    secret_set(&key, PROOF_KEY);
    test_server_prove(server, PROOF_KEY, NULL);
    request.address_of = ADDRESS_OF_USER;
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_FORBIDDEN);
    assert_int_equal(test_server_n_connections(server), 0);
    test_server_stop(server);
}

/* A connection without a proof is kept for calls that need none. */
static void kept_connection_without_a_proof_is_not_used(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(secret_done) struct secret other = SECRET_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    CLEANUP(http_call_freep) struct http_call *first = NULL;
    CLEANUP(http_call_freep) struct http_call *second = NULL;
    struct http_request request = question(test_server_url(server, "/x"), &key);

    test_server_prove(server, PROOF_KEY, NULL);
    assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
    secret_set(&key, PROOF_KEY);
    assert_int_equal(fixture_run(*state, &request, &first), ERROR_NONE);
    assert_int_equal(test_server_n_proofs(server), 1);
    assert_int_equal(test_server_n_after_proof(server), 1);
    secret_set(&other, "another key");
    request.proof_key = &other;
    assert_int_equal(fixture_run(*state, &request, &second), ERROR_UNAVAILABLE);
    assert_int_equal(test_server_n_requests(server), 2);
    test_server_stop(server);
}

static void call_ends_while_its_server_proves_itself(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(silent_reply, 1, NULL);
    struct http_request request = question(test_server_url(server, "/x"), &key);
    struct error err = ERROR_INIT;

    secret_set(&key, PROOF_KEY);
    assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
    assert_false(http_is_over_within(call, 100));
    http_cancel(call);
    assert_int_equal(http_wait(call, &err), -1);
    assert_int_equal(err.code, ERROR_CANCELLED);
    test_server_stop(server);
}

static void streamed_body_waits_for_the_proof(void **state)
{
    static const struct {
        const char *key;
        enum error_code code;
    } servers[] = {{PROOF_KEY, ERROR_NONE}, {"another key", ERROR_UNAVAILABLE}};

    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        CLEANUP(secret_done) struct secret key = SECRET_INIT;
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        struct test_server *server = test_server_start(plain_reply, 1, NULL);
        struct http_request request = question(test_server_url(server, "/x"), &key);
        struct error err = ERROR_INIT;

        secret_set(&key, PROOF_KEY);
        test_server_prove(server, servers[i].key, NULL);
        request.body = NULL;
        request.send_stream = true;
        assert_int_equal(fixture_start(*state, &request, &call, &err), 0);
        if (http_call_write(call, BODY, strlen(BODY), &err) == 0 &&
            http_call_write(call, NULL, 0, &err) == 0)
            assert_int_equal(http_wait(call, &err), servers[i].code == ERROR_NONE ? 0 : -1);
        assert_int_equal(err.code, servers[i].code);
        assert_int_equal(test_server_n_requests(server), servers[i].code == ERROR_NONE ? 1 : 0);
        test_server_stop(server);
    }
}

static void kept_connection_proves_once(void **state)
{
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    struct http_request request = question(test_server_url(server, "/x"), &key);

    secret_set(&key, PROOF_KEY);
    test_server_prove(server, PROOF_KEY, NULL);
    for (int i = 0; i < 3; i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;

        assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    }
    assert_int_equal(test_server_n_proofs(server), 1);
    assert_int_equal(test_server_n_requests(server), 3);
    test_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_with_the_key_gets_the_request),
        cmocka_unit_test(another_server_hears_nothing),
        cmocka_unit_test(server_with_another_key_or_place_hears_nothing),
        cmocka_unit_test(server_that_is_silent_or_away_is_not_called_another),
        cmocka_unit_test(server_that_accepts_nothing_is_left_in_time),
        cmocka_unit_test(url_without_an_address_is_refused),
        cmocka_unit_test(private_address_of_another_is_not_asked_for_a_proof),
        cmocka_unit_test(kept_connection_without_a_proof_is_not_used),
        cmocka_unit_test(call_ends_while_its_server_proves_itself),
        cmocka_unit_test(streamed_body_waits_for_the_proof),
    };
    const struct CMUnitTest direct_tests[] = {cmocka_unit_test(kept_connection_proves_once)};
    int n_failed =
        cmocka_run_group_tests_name("transport", tests, fixture_set_up, fixture_tear_down);

    n_failed +=
        cmocka_run_group_tests_name("direct", tests, fixture_set_up_direct, fixture_tear_down);
    n_failed += cmocka_run_group_tests_name("direct only", direct_tests, fixture_set_up_direct,
                                            fixture_tear_down);
    return n_failed;
}
