/*
 * Bodies that a call takes over: what is sent, and what happens if the connection ends when they
 * have been freed.
 */
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <curl/curl.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/http_fixture.h"

enum { N_CALLS = 100, DEADLINE_MS = 60000 };

/* More than libcurl and the kernel buffer. */
#define LARGE_BYTES (16 * 1024 * KIB)

static char *body_of(size_t len)
{
    char *body = mem_alloc(len + 1);

    for (size_t i = 0; i < len; i++)
        body[i] = (char)('a' + i % 23);
    return body;
}

/* The call takes the body over. */
static struct http_request post(struct test_server *server, size_t len)
{
    struct http_request request = fixture_get(test_server_url(server, "/"));

    request.method = "POST";
    request.given_body = body_of(len);
    request.body_len = len;
    return request;
}

static void assert_sent(struct test_server *server, size_t i, size_t len)
{
    CLEANUP(mem_freep) char *body = body_of(len);
    const char *sent = strstr(test_server_request(server, i), "\r\n\r\n");

    assert_non_null(sent);
    assert_true(text_equal(sent + 4, body));
}

static void given_body_is_sent(void **state)
{
    const size_t lens[] = {1, 2, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 100 * KIB};
    struct test_server *server = test_server_start(plain_reply, 1, NULL);

    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        const struct http_request request = post(server, lens[i]);
        const char *head = NULL;
        char length[64] = "";

        assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
        assert_false(http_has_lost_body(call));
        assert_sent(server, i, lens[i]);
        head = test_server_request(server, i);
        assert_true(text_starts_with(head, "POST / HTTP/1.1\r\n"));
        (void)snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", lens[i]);
        assert_non_null(strstr(head, length));
        assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
        assert_null(strstr(head, "Expect"));
        assert_null(strstr(head, "Transfer-Encoding"));
    }
    test_server_stop(server);
}

static void empty_given_body_is_sent(void **state)
{
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    const struct http_request request = post(server, 0);

    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_non_null(strstr(test_server_request(server, 0), "\r\nContent-Length: 0\r\n"));
    test_server_stop(server);
}

/* Leaks are the sanitizer's to find. */
static void given_body_of_a_call_that_cannot_start_is_freed(void **state)
{
    struct test_server *server = test_server_start(plain_reply, 1, NULL);
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    struct http_request unstated = post(server, 100);
    struct http_request wrong = post(server, 100);

    unstated.address_of = ADDRESS_UNSTATED;
    assert_int_equal(fixture_run(*state, &unstated, &call), ERROR_INTERNAL);
    wrong.url = "ftp://127.0.0.1/";
    assert_int_equal(fixture_run(*state, &wrong, &call), ERROR_INVALID);
    assert_null(call);
    assert_int_equal(test_server_n_requests(server), 0);
    test_server_stop(server);
}

/* How a call ends whose kept connection the server ends when the request has come. */
static void connection_that_ends_after_the_body_loses_it(void **state)
{
    static const struct {
        struct test_reply second;
        bool is_given;
        enum error_code code; /* over the transport's connections */
        bool has_lost_body;
        size_t n_requests;
    } cases[] = {
        {{.bytes = "", .ending = TEST_CLOSE}, true, ERROR_UNAVAILABLE, true, 2},
        {{.bytes = "", .ending = TEST_RESET}, true, ERROR_UNAVAILABLE, true, 2},
        {{.bytes = "", .ending = TEST_CLOSE}, false, ERROR_NONE, false, 3},
        /* It has been answered: libcurl would not repeat it. */
        {{.bytes = OK_HEAD, .ending = TEST_RESET}, true, ERROR_UNAVAILABLE, false, 2},
    };
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_reply replies[] = {{.bytes = NULL}, cases[i].second, {.bytes = NULL}};
        struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        CLEANUP(mem_freep) char *kept = NULL;
        struct http_request request = post(server, 30 * KIB);
        /* A direct call has its body until its end. */
        bool is_repeated = fixture->direct != NULL && cases[i].has_lost_body;

        if (!cases[i].is_given) {
            kept = TAKE_PTR(request.given_body);
            request.body = kept;
        }
        assert_int_equal(fixture_run_get(fixture, request.url), ERROR_NONE);
        assert_int_equal(fixture_run(fixture, &request, &call),
                         is_repeated ? ERROR_NONE : cases[i].code);
        assert_int_equal(http_has_lost_body(call), cases[i].has_lost_body && !is_repeated);
        assert_int_equal(test_server_n_requests(server), is_repeated ? 3 : cases[i].n_requests);
        assert_sent(server, test_server_n_requests(server) - 1, 30 * KIB);
        test_server_stop(server);
    }
}

/* The request is then sent again as any other. */
static void body_that_was_not_yet_sent_is_not_lost(void **state)
{
    static const struct test_reply replies[] = {
        {.bytes = NULL},
        {.bytes = "", .delay_ms = 100, .ending = TEST_RESET, .is_early = true},
        {.bytes = NULL}};
    struct test_server *server = test_server_start(replies, ARRAY_SIZE(replies), NULL);
    CLEANUP(http_call_freep) struct http_call *call = NULL;
    const struct http_request request = post(server, LARGE_BYTES);

    assert_int_equal(fixture_run_get(*state, request.url), ERROR_NONE);
    assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
    assert_false(http_has_lost_body(call));
    assert_int_equal(test_server_n_requests(server), 3);
    assert_sent(server, 2, LARGE_BYTES);
    test_server_stop(server);
}

/* A server that accepts connections by its backlog only, and whose kernel takes 40 KB from each. */
static int listen_only(char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 2 * N_CALLS), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(url, size, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return fd;
}

static size_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Nor libcurl's buffer, if it keeps one for each handle: see transport.c. */
static void call_that_waits_keeps_no_body(void **state)
{
    bool keeps_buffer = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080000;
    const size_t most = (keeps_buffer ? 40 : 24) * KIB;
    const struct fixture *fixture = *state;
    struct http_call *calls[N_CALLS] = {NULL};
    int64_t until_ms = clock_monotonic_ms() + DEADLINE_MS;
    size_t before = bytes_in_use();
    struct error err = ERROR_INIT;
    char url[64] = "";
    CLEANUP(fd_close) int fd = listen_only(url, sizeof(url));

    for (size_t i = 0; i < N_CALLS; i++) {
        struct http_request request = fixture_get(url);

        request.method = "POST";
        request.given_body = body_of(40 * KIB);
        request.body_len = 40 * KIB;
        assert_int_equal(fixture_start(fixture, &request, &calls[i], &err), 0);
    }
    /* It ends early, too, if a call ends, which none should. */
    while (bytes_in_use() > before + N_CALLS * most && clock_monotonic_ms() < until_ms &&
           !http_is_over_within(calls[0], 10))
        ;
    assert_true(bytes_in_use() <= before + N_CALLS * most);
    for (size_t i = 0; i < N_CALLS; i++)
        http_call_free(calls[i]);
}

int main(void)
{
    /* A direct call keeps its body. */
    const struct CMUnitTest of_transport[] = {
        cmocka_unit_test(call_that_waits_keeps_no_body),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_body_is_sent),
        cmocka_unit_test(empty_given_body_is_sent),
        cmocka_unit_test(given_body_of_a_call_that_cannot_start_is_freed),
        cmocka_unit_test(connection_that_ends_after_the_body_loses_it),
        cmocka_unit_test(body_that_was_not_yet_sent_is_not_lost),
    };
    int n_failed =
        cmocka_run_group_tests_name("transport", tests, fixture_set_up, fixture_tear_down);

    n_failed +=
        cmocka_run_group_tests_name("memory", of_transport, fixture_set_up, fixture_tear_down);
    n_failed +=
        cmocka_run_group_tests_name("direct", tests, fixture_set_up_direct, fixture_tear_down);
    return n_failed;
}
