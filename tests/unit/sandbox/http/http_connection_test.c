#include "sandbox/http/http_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/server_request.h"
#include "unit/sandbox/sandbox_test.h"

enum { MAX_BODY = 1024, READ_BYTES = 65536 };

/* A client and the server's side of its connection. */
struct bench {
    struct action_config config;
    struct action_server server;
    struct event_loop *loop;
    struct http_context http;
    struct http_listener listener;
    int client;
    struct strbuf got;
    bool is_closed; /* the server has ended the connection */
};

/* --- routes --- */

static void echo(struct server_request *request)
{
    server_request_answer_text(request, 200, "text/plain", request->body.text, request->body.len);
}

static void on_dropped(void *owner)
{
    *(bool *)owner = true;
}

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): routes take no context */
static bool was_dropped;
static struct server_request *kept;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static void keep(struct server_request *request)
{
    was_dropped = false;
    kept = request;
    request->dropped = on_dropped;
    request->owner = &was_dropped;
}

static void answer_large(struct server_request *request)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 400000; i++)
        strbuf_append(&text, "large ");
    server_request_answer_text(request, 200, "text/plain", text.text, text.len);
}

static const struct http_route routes[] = {
    {METHOD_GET, "/echo", ROUTE_OPEN, 0, echo, NULL},
    {METHOD_POST, "/echo", ROUTE_OPEN, MAX_BODY, echo, NULL},
    {METHOD_GET, "/wait", ROUTE_OPEN, 0, keep, NULL},
    {METHOD_GET, "/large", ROUTE_OPEN, 0, answer_large, NULL},
    {METHOD_GET, "/keyed", ROUTE_KEYED, 0, echo, NULL},
    {METHOD_GET, "/api/keyed", ROUTE_KEYED, 0, echo, NULL},
    {METHOD_GET, "/older", ROUTE_OLDER, 0, echo, NULL},
};
static const struct http_route_table table = {routes, ARRAY_SIZE(routes)};

/* --- the bench --- */

static void connect_client(struct bench *bench)
{
    int ends[2] = {-1, -1};

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    bench->client = ends[0];
    http_connection_open(&bench->listener, ends[1]);
}

static int setup(void **state)
{
    struct bench *bench = NEW(struct bench);
    struct error err = ERROR_INIT;

    bench->config.open = 1;
    bench->server.config = &bench->config;
    assert_int_equal(event_loop_new(&bench->loop, &err), 0);
    bench->server.loop = bench->loop;
    bench->http = (struct http_context){.server = &bench->server,
                                        .loop = bench->loop,
                                        .routes = &table,
                                        .connections = LIST_HEAD_INITIALIZER(connections)};
    bench->listener.http = &bench->http;
    bench->got = (struct strbuf)STRBUF_INIT;
    connect_client(bench);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    while (!LIST_EMPTY(&bench->http.connections))
        http_connection_close(LIST_FIRST(&bench->http.connections));
    assert_int_equal(bench->listener.acceptor.n_open, 0);
    event_loop_free(bench->loop);
    fd_close(&bench->client);
    strbuf_done(&bench->got);
    mem_free(bench);
    return 0;
}

/* Reads what the server has sent. */
static void receive(struct bench *bench)
{
    ssize_t n = 0;

    do {
        strbuf_reserve(&bench->got, READ_BYTES);
        n = recv(bench->client, bench->got.text + bench->got.len, READ_BYTES, 0);
        if (n > 0)
            bench->got.len += (size_t)n;
        bench->got.text[bench->got.len] = '\0';
    } while (n > 0);
    if (n == 0 || errno != EAGAIN)
        bench->is_closed = true;
}

/* Runs the server until the client has all of that text. */
static void receive_until(struct bench *bench, const char *text)
{
    receive(bench);
    while (strstr(bench->got.text, text) == NULL && !bench->is_closed) {
        event_loop_dispatch(bench->loop);
        receive(bench);
    }
    assert_non_null(strstr(bench->got.text, text));
}

static void receive_end(struct bench *bench)
{
    receive(bench);
    while (!bench->is_closed) {
        event_loop_dispatch(bench->loop);
        receive(bench);
    }
}

/* Sends bytes, and runs the server whenever it has to read some first. */
static void send_bytes(struct bench *bench, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(bench->client, bytes, len, MSG_NOSIGNAL);

        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else {
            event_loop_dispatch(bench->loop);
        }
    }
}

static void send_text(struct bench *bench, const char *text)
{
    send_bytes(bench, text, strlen(text));
}

static struct http_connection *connection_of(struct bench *bench)
{
    assert_false(LIST_EMPTY(&bench->http.connections));
    return LIST_FIRST(&bench->http.connections);
}

static size_t count(const char *text, const char *part)
{
    size_t len = strlen(text);
    size_t n_part = strlen(part);
    size_t n = 0;

    /* Not with strstr(): the address sanitizer measures the whole rest of the text at each call. */
    for (size_t i = 0; i + n_part <= len; i++)
        n += memcmp(text + i, part, n_part) == 0;
    return n;
}

/* --- tests --- */

static void request_is_answered_however_it_is_cut(void **state)
{
    static const char text[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    struct bench *bench = *state;

    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        send_bytes(bench, text + i, 1);
        event_loop_dispatch(bench->loop);
    }
    receive_until(bench, "hello");
    assert_string_equal(bench->got.text, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
                                         "content-length: 5\r\n\r\nhello");
    assert_false(bench->is_closed);
}

static void requests_in_a_row_are_answered_in_order(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\none"
                     "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\ntwo"
                     "HEAD /echo HTTP/1.1\r\n\r\n"
                     "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nthree");
    receive_until(bench, "three");
    assert_int_equal(count(bench->got.text, "HTTP/1.1 200 OK\r\n"), 4);
    assert_true(strstr(bench->got.text, "one") < strstr(bench->got.text, "two"));
    assert_false(bench->is_closed);
}

static void chunked_request_is_the_last_one(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /echo HTTP/1.1\r\n\r\n");
    receive_end(bench);
    assert_non_null(strstr(bench->got.text, "connection: close\r\n"));
    assert_true(text_ends_with(bench->got.text, "\r\n\r\nabcde"));
}

static void reply_is_sent_to_a_client_that_sends_nothing_more(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "GET /large HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_int_equal(shutdown(bench->client, SHUT_WR), 0);
    receive_end(bench);
    assert_int_equal(count(bench->got.text, "large "), 400000);
    while (!LIST_EMPTY(&bench->http.connections))
        event_loop_dispatch(bench->loop);
}

static void nonsense_is_refused_and_ends_the_connection(void **state)
{
    static const struct {
        const char *text;
        const char *reply;
    } cases[] = {
        {"\x16\x03\x01\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 400 Bad Request\r\n"},
        {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
         "HTTP/1.1 400 Bad Request\r\n"},
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        send_text(bench, cases[i].text);
        send_text(bench, "GET /echo HTTP/1.1\r\n\r\n");
        receive_end(bench);
        assert_true(text_starts_with(bench->got.text, cases[i].reply));
        assert_int_equal(count(bench->got.text, "HTTP/1.1 "), 1);
        assert_int_equal(count(bench->got.text, "connection: close\r\n"), 1);
        fd_close(&bench->client);
        strbuf_reset(&bench->got);
        bench->is_closed = false;
        connect_client(bench);
    }
}

static void head_that_is_too_large_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct bench *bench = *state;

    strbuf_append(&text, "GET /echo HTTP/1.1\r\nX-A: ");
    while (text.len < 2 * (size_t)MAX_HEADER_BYTES)
        strbuf_append_char(&text, 'a');
    send_bytes(bench, text.text, text.len);
    receive_end(bench);
    assert_true(text_starts_with(bench->got.text, "HTTP/1.1 431 "));
}

/* The client sees why, since the body is read before the reply is sent. */
static void body_that_is_too_large_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct bench *bench = *state;

    strbuf_appendf(&text, "POST /echo HTTP/1.1\r\nContent-Length: %d\r\n\r\n", MAX_BODY + 1);
    for (int i = 0; i <= MAX_BODY; i++)
        strbuf_append_char(&text, 'a');
    strbuf_append(&text, "GET /echo HTTP/1.1\r\n\r\n");
    send_bytes(bench, text.text, text.len);
    receive_until(bench, "HTTP/1.1 200 OK");
    assert_true(text_starts_with(bench->got.text, "HTTP/1.1 413 "));
}

static void chunked_body_has_the_same_limit(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct bench *bench = *state;

    strbuf_append(&text, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i <= MAX_BODY; i++)
        strbuf_append(&text, "1\r\na\r\n");
    strbuf_append(&text, "0\r\n\r\n");
    send_bytes(bench, text.text, text.len);
    receive_end(bench);
    assert_true(text_starts_with(bench->got.text, "HTTP/1.1 413 "));
}

/* A client that is not told would lose its next request. */
static void reply_says_that_the_connection_ends(void **state)
{
    static const char *const requests[] = {
        "GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /echo HTTP/1.0\r\n\r\n",
        /* Larger than what is read to keep the connection. */
        "POST /echo HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n",
        "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        send_text(bench, requests[i]);
        receive_end(bench);
        assert_int_equal(count(bench->got.text, "connection: close\r\n"), 1);
        fd_close(&bench->client);
        strbuf_reset(&bench->got);
        bench->is_closed = false;
        connect_client(bench);
    }
}

#define EXPECT "Expect: 100-Continue\r\n"

static void body_that_is_wanted_is_asked_for(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" EXPECT "\r\n");
    receive_until(bench, "\r\n\r\n");
    assert_string_equal(bench->got.text, "HTTP/1.1 100 Continue\r\n\r\n");
    send_text(bench, "hello");
    receive_until(bench, "hello");
    assert_int_equal(count(bench->got.text, "HTTP/1.1 "), 2);
    assert_false(bench->is_closed);
}

/* The client may send the body or not: what follows the head cannot be told from a request. */
static void body_that_is_not_wanted_is_not_waited_for(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "POST /echo HTTP/1.1\r\nContent-Length: 5000\r\n" EXPECT "\r\n");
    receive_end(bench);
    assert_true(text_starts_with(bench->got.text, "HTTP/1.1 413 "));
    assert_int_equal(count(bench->got.text, "connection: close\r\n"), 1);
}

static void body_is_not_asked_for_without_need(void **state)
{
    static const char *const requests[] = {
        "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" EXPECT "\r\nhello",
        "POST /echo HTTP/1.1\r\nContent-Length: 0\r\n" EXPECT "\r\n",
        "GET /echo HTTP/1.1\r\n" EXPECT "\r\n",
        "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n" EXPECT "\r\n1",
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        strbuf_reset(&bench->got);
        send_text(bench, requests[i]);
        receive_until(bench, "\r\n\r\n");
        assert_int_equal(count(bench->got.text, "100 Continue"), 0);
    }
}

static void client_that_goes_drops_its_request(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "GET /wait HTTP/1.1\r\n\r\n");
    kept = NULL;
    while (kept == NULL)
        event_loop_dispatch(bench->loop);
    fd_close(&bench->client);
    while (!LIST_EMPTY(&bench->http.connections))
        event_loop_dispatch(bench->loop);
    assert_true(was_dropped);
}

static void further_requests_wait_for_the_one_being_handled(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "GET /wait HTTP/1.1\r\n\r\nGET /echo HTTP/1.1\r\n\r\n");
    kept = NULL;
    while (kept == NULL)
        event_loop_dispatch(bench->loop);
    receive(bench);
    assert_int_equal(bench->got.len, 0);
    server_request_answer_text(kept, 200, "text/plain", "late", 4);
    receive_until(bench, "late");
    while (count(bench->got.text, "HTTP/1.1 200 OK") < 2) {
        event_loop_dispatch(bench->loop);
        receive(bench);
    }
    assert_false(was_dropped);
}

/* The status of a request with that key; NULL: without one. */
static int status_with_key(struct bench *bench, const char *path, const char *key)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "GET %s HTTP/1.1\r\n", path);
    if (key != NULL)
        strbuf_appendf(&text, "X-Session-API-Key: %s\r\n", key);
    strbuf_append(&text, "\r\n");
    strbuf_reset(&bench->got);
    send_text(bench, text.text);
    receive_until(bench, "\r\n\r\n");
    assert_true(text_starts_with(bench->got.text, "HTTP/1.1 "));
    return (int)strtol(bench->got.text + strlen("HTTP/1.1 "), NULL, 10);
}

/* The key of commands is known to all that runs in the sandbox. */
static void routes_are_served_by_key(void **state)
{
    static const struct {
        const char *path;
        const char *key;
        int status;
    } cases[] = {
        {"/echo", NULL, 200},
        {"/keyed", NULL, 401},
        {"/keyed", "", 401},
        {"/keyed", "wrong", 401},
        {"/keyed", "right", 200},
        {"/keyed", "righ", 401},
        {"/keyed", "rightly", 401},
        {"/keyed", "command", 401},
        {"/api/keyed", "command", 200},
        {"/api/keyed", "right", 200},
        {"/api/keyed", NULL, 401},
        {"/api/keyed", "", 401},
        {"/older", NULL, 403},
        {"/older", "wrong", 403},
        {"/older", "right", 200},
        {"/older", "command", 403},
        {"/api/../keyed", "command", 401},
    };
    struct bench *bench = *state;

    bench->config.open = 0;
    secret_set(&bench->config.api_key, "right");
    (void)snprintf(bench->config.command_key, sizeof(bench->config.command_key), "command");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int status = status_with_key(bench, cases[i].path, cases[i].key);

        if (status != cases[i].status)
            fail_msg("%s with %s: %d", cases[i].path, cases[i].key, status);
    }
    secret_done(&bench->config.api_key);
}

static void dormant_server_serves_open_routes_alone(void **state)
{
    struct bench *bench = *state;

    bench->config.open = 0;
    secret_set(&bench->config.init_key, "first");
    (void)snprintf(bench->config.command_key, sizeof(bench->config.command_key), "command");
    assert_int_equal(status_with_key(bench, "/echo", NULL), 200);
    assert_int_equal(status_with_key(bench, "/keyed", "first"), 503);
    assert_int_equal(status_with_key(bench, "/keyed", ""), 503);
    assert_int_equal(status_with_key(bench, "/api/keyed", "command"), 503);
    secret_done(&bench->config.init_key);
}

static void upgrade_is_not_answered(void **state)
{
    struct bench *bench = *state;

    send_text(bench, "GET /echo HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    receive_end(bench);
    assert_int_equal(bench->got.len, 0);
}

/* --- time limits --- */

static int64_t left_ms(struct bench *bench)
{
    const struct event_loop_timer *deadline = &connection_of(bench)->deadline;

    return deadline->due_ms != 0 ? deadline->due_ms - clock_monotonic_ms() : -1;
}

/* Sends a part of a request, and lets the server read it. */
static void send_part(struct bench *bench, const char *text)
{
    send_text(bench, text);
    event_loop_dispatch(bench->loop);
}

static void each_part_has_a_time_limit(void **state)
{
    struct bench *bench = *state;
    int64_t before_ms = 0;

    assert_in_range(left_ms(bench), 1, 30000);
    before_ms = connection_of(bench)->deadline.due_ms;
    send_part(bench, "POST /ec");
    send_part(bench, "ho HTTP/1.1\r\nContent-Le");
    assert_in_range(connection_of(bench)->deadline.due_ms, before_ms, before_ms + 5000);
    send_part(bench, "ngth: 2\r\n\r\n");
    assert_in_range(left_ms(bench), 60000, 120000);
    send_part(bench, "ab");
    receive_until(bench, "ab");
    assert_in_range(left_ms(bench), 30001, 90000);
    before_ms = connection_of(bench)->deadline.due_ms;
    send_part(bench, "G");
    assert_true(connection_of(bench)->deadline.due_ms < before_ms);
    send_part(bench, "ET /wait HTTP/1.1\r\n\r\n");
    assert_int_equal(left_ms(bench), -1);
}

/* Moves the begin of the body or the reply back, as if that time had passed. */
static void let_pass(struct bench *bench, int64_t ms)
{
    connection_of(bench)->transfer_begun_ms -= ms;
}

static void body_has_a_minimum_rate(void **state)
{
    CLEANUP(strbuf_done) struct strbuf piece = STRBUF_INIT;
    struct bench *bench = *state;

    while (piece.len < 16384)
        strbuf_append_char(&piece, 'a');
    send_part(bench, "POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n");
    let_pass(bench, 110000);
    send_part(bench, "a");
    assert_in_range(left_ms(bench), 1, 10000);
    send_part(bench, piece.text);
    assert_in_range(left_ms(bench), 10001, 12000);
    let_pass(bench, 12000);
    send_part(bench, "a");
    receive_end(bench);
    assert_int_equal(bench->got.len, 0);
}

/* The piece is on time, but the rest is not: the limit of a piece does not begin anew. */
static void reply_has_a_minimum_rate(void **state)
{
    struct bench *bench = *state;

    send_part(bench, "GET /large HTTP/1.1\r\n\r\n");
    event_loop_dispatch(bench->loop);
    assert_in_range(left_ms(bench), 60000, 120000);
    let_pass(bench, 3600000);
    receive(bench);
    while (!LIST_EMPTY(&bench->http.connections))
        event_loop_dispatch(bench->loop);
    receive_end(bench);
    assert_in_range(count(bench->got.text, "large "), 1, 300000);
}

static void slow_client_is_disconnected(void **state)
{
    struct bench *bench = *state;
    struct http_connection *connection = connection_of(bench);

    send_part(bench, "GET /echo HT");
    connection->deadline.expired(connection->deadline.owner);
    receive_end(bench);
    assert_true(LIST_EMPTY(&bench->http.connections));
    assert_int_equal(bench->got.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int http_connection_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_is_answered_however_it_is_cut),
        TEST(requests_in_a_row_are_answered_in_order),
        TEST(chunked_request_is_the_last_one),
        TEST(reply_is_sent_to_a_client_that_sends_nothing_more),
        TEST(nonsense_is_refused_and_ends_the_connection),
        TEST(head_that_is_too_large_is_refused),
        TEST(body_that_is_too_large_is_refused),
        TEST(chunked_body_has_the_same_limit),
        TEST(reply_says_that_the_connection_ends),
        TEST(body_that_is_wanted_is_asked_for),
        TEST(body_that_is_not_wanted_is_not_waited_for),
        TEST(body_is_not_asked_for_without_need),
        TEST(client_that_goes_drops_its_request),
        TEST(further_requests_wait_for_the_one_being_handled),
        TEST(routes_are_served_by_key),
        TEST(dormant_server_serves_open_routes_alone),
        TEST(upgrade_is_not_answered),
        TEST(each_part_has_a_time_limit),
        TEST(body_has_a_minimum_rate),
        TEST(reply_has_a_minimum_rate),
        TEST(slow_client_is_disconnected),
    };

    return cmocka_run_group_tests_name("http_connection", tests, NULL, NULL);
}
