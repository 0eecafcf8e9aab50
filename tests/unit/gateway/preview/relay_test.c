/*
 * The relay between nginx and the programs in sandboxes: both ends are sockets of the test, which
 * also runs the relay's turns.
 */
#include "gateway/preview/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"

enum { PATIENCE_MS = 60000, READ_BYTES = 65536, LARGE_BYTES = 4000000 };

#define SHOWN "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
#define OK_HEAD "HTTP/1.1 200 OK\r\n"

struct relay_fixture {
    struct preview_relay relay;
    char path[64];
    int program_fd; /* listens */
    int port;
};

static int set_up(void **state)
{
    struct relay_fixture *fixture = NEW(struct relay_fixture);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct error err = ERROR_INIT;

    fixture->relay = (struct preview_relay)PREVIEW_RELAY_INIT;
    (void)snprintf(fixture->path, sizeof(fixture->path), "/tmp/deft-relay.%d", (int)getpid());
    assert_int_equal(preview_relay_open(&fixture->relay, fixture->path, &err), 0);
    fixture->program_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fixture->program_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fixture->program_fd, 8), 0);
    assert_int_equal(getsockname(fixture->program_fd, (struct sockaddr *)&address, &len), 0);
    fixture->port = ntohs(address.sin_port);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct relay_fixture *fixture = *state;

    preview_relay_close(&fixture->relay);
    fd_close(&fixture->program_fd);
    (void)unlink(fixture->path);
    mem_free(fixture);
    return 0;
}

/* --- ends --- */

static int connect_nginx(const struct relay_fixture *fixture)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, fixture->path, strlen(fixture->path));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The head of a request to the program, which asks for more. */
static void say_request(const struct relay_fixture *fixture, int fd, const char *lines)
{
    char head[256] = "";

    (void)snprintf(head, sizeof(head),
                   "GET / HTTP/1.1\r\nX-Deft-Address: 127.0.0.1:%d\r\nHost: x\r\n%s\r\n",
                   fixture->port, lines);
    say(fd, head);
}

/* One turn; what an earlier call failed of means nothing to it. */
static void pump(struct relay_fixture *fixture)
{
    errno = EAGAIN;
    preview_relay_pump(&fixture->relay);
}

/* Runs turns until there is something to read at fd, or its end. */
static void turn_until(struct relay_fixture *fixture, int fd, short events)
{
    int64_t deadline_ms = clock_monotonic_ms() + PATIENCE_MS;
    struct pollfd polled[2] = {{.fd = fd, .events = events},
                               {.fd = fixture->relay.epoll_fd, .events = POLLIN}};

    while (poll(polled, 1, 0) == 0) {
        assert_true(clock_monotonic_ms() < deadline_ms);
        (void)poll(polled, 2, PATIENCE_MS);
        pump(fixture);
    }
}

/* Runs the turns that are due. */
static void turn(struct relay_fixture *fixture)
{
    struct pollfd polled = {.fd = fixture->relay.epoll_fd, .events = POLLIN};

    while (poll(&polled, 1, 0) > 0)
        pump(fixture);
}

static int accept_program(struct relay_fixture *fixture)
{
    turn_until(fixture, fixture->program_fd, POLLIN);
    return accept4(fixture->program_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Reads until the text is there, which is all that came. */
static void hear(struct relay_fixture *fixture, int fd, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    char bytes[READ_BYTES];

    while (heard.len < strlen(expected)) {
        ssize_t n = 0;

        turn_until(fixture, fd, POLLIN);
        n = recv(fd, bytes, sizeof(bytes), 0);
        if (n <= 0)
            break;
        strbuf_append_bytes(&heard, bytes, (size_t)n);
    }
    assert_string_equal(heard.text, expected);
}

static void hear_all(struct relay_fixture *fixture, int fd, struct strbuf *heard)
{
    char bytes[READ_BYTES];
    ssize_t n = 1;

    while (n > 0) {
        turn_until(fixture, fd, POLLIN);
        n = recv(fd, bytes, sizeof(bytes), 0);
        if (n > 0)
            strbuf_append_bytes(heard, bytes, (size_t)n);
    }
}

static void hear_end(struct relay_fixture *fixture, int fd)
{
    char byte = 0;

    turn_until(fixture, fd, POLLIN);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
}

/* A request whose head has reached the program. */
static void begin(struct relay_fixture *fixture, int *nginx_out, int *program_out)
{
    *nginx_out = connect_nginx(fixture);
    say_request(fixture, *nginx_out, "");
    *program_out = accept_program(fixture);
    hear(fixture, *program_out, SHOWN);
}

/* --- tests --- */

static void request_and_answer_are_passed_on(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;

    begin(fixture, &nginx, &program);
    assert_int_equal(fixture->relay.n_links, 1);
    say(nginx, "body");
    hear(fixture, program, "body");
    say(program, OK_HEAD "A: 1\r\n");
    hear(fixture, nginx, OK_HEAD "A: 1\r\n");
    say(program, "\r\nanswer");
    hear(fixture, nginx, "\r\nanswer");
    say(nginx, "more");
    hear(fixture, program, "more");
    fd_close(&program);
    hear_end(fixture, nginx);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 0);
}

static void head_may_come_in_pieces(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = connect_nginx(fixture);
    CLEANUP(fd_close) int program = -1;
    char line[64] = "";

    say(nginx, "GET / HTTP/1.1\r\n");
    turn(fixture);
    (void)snprintf(line, sizeof(line), "X-Deft-Address: 127.0.0.1:%d\r\nHost: x\r\n",
                   fixture->port);
    say(nginx, line);
    turn(fixture);
    say(nginx, "\r\nthe body");
    program = accept_program(fixture);
    hear(fixture, program, SHOWN "the body");
    say(program, "HTTP/1.");
    turn(fixture);
    say(program, "1 204 No\r\n\r\n");
    hear(fixture, nginx, "HTTP/1.1 204 No\r\n\r\n");
}

/* nginx would take it for the final one. */
static void informational_answers_are_left_out(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;

    begin(fixture, &nginx, &program);
    say(program,
        "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" OK_HEAD "\r\n");
    hear(fixture, nginx, OK_HEAD "\r\n");
}

static void upgrade_must_have_been_asked_for(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = connect_nginx(fixture);
    CLEANUP(fd_close) int program = -1;
    CLEANUP(fd_close) int other = -1;
    CLEANUP(fd_close) int other_program = -1;

    say_request(fixture, nginx, "Upgrade: websocket\r\n");
    program = accept_program(fixture);
    say(program, "HTTP/1.1 101 Switching\r\n\r\nframe");
    hear(fixture, nginx, "HTTP/1.1 101 Switching\r\n\r\nframe");
    begin(fixture, &other, &other_program);
    say(other_program, "HTTP/1.1 101 Switching\r\n\r\nframe");
    hear_all(fixture, other, &heard);
    assert_non_null(strstr(heard.text, "its status is 101."));
    assert_null(strstr(heard.text, "frame\r"));
}

static void what_is_no_http_is_refused(void **state)
{
    static const struct {
        const char *answer;
        const char *said;
    } cases[] = {
        {"SSH-2.0-x\r\n", "to this request: its status is"},
        {"HTTP/1.1 099 X\r\n", "to this request: its status is 099."},
        {"HTTP/1.1 600 X\r\n", "to this request: its status is 600."},
    };
    struct relay_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf length = STRBUF_INIT;
        CLEANUP(fd_close) int nginx = -1;
        CLEANUP(fd_close) int program = -1;
        const char *body = NULL;

        begin(fixture, &nginx, &program);
        say(program, cases[i].answer);
        hear_all(fixture, nginx, &heard);
        assert_true(text_starts_with(heard.text, "HTTP/1.1 502 Bad Gateway\r\n"));
        assert_int_equal(strstr(heard.text, cases[i].said) != NULL, i > 0);
        assert_non_null(strstr(heard.text, "did not send a valid HTTP response"));
        assert_null(strstr(heard.text, "SSH"));
        body = strstr(heard.text, "\r\n\r\n") + 4;
        strbuf_appendf(&length, "\r\nContent-Length: %zu\r\n\r\n", strlen(body));
        assert_non_null(strstr(heard.text, length.text));
        hear_end(fixture, program);
    }
}

static void heads_of_an_answer_are_limited(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf heads = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;
    CLEANUP(fd_close) int other = -1;
    CLEANUP(fd_close) int other_program = -1;

    begin(fixture, &nginx, &program);
    while (heads.len + 30 < 16384)
        strbuf_append(&heads, "HTTP/1.1 100 X\r\n\r\n");
    say(program, heads.text);
    turn(fixture);
    say(program, OK_HEAD "\r\n");
    hear(fixture, nginx, OK_HEAD "\r\n");
    begin(fixture, &other, &other_program);
    strbuf_append(&heads, "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 1");
    say(other_program, heads.text);
    hear_all(fixture, other, &heard);
    assert_true(text_starts_with(heard.text, "HTTP/1.1 502 Bad Gateway\r\n"));
}

static void page_of_a_refused_answer_is_whole(void **state)
{
    static const char expected[] =
        "HTTP/1.1 502 Bad Gateway\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'\r\n"
        "Connection: close\r\n"
        "Content-Length: 401\r\n\r\n"
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>The response cannot be shown</title>\n"
        "<h1>The response cannot be shown</h1>\n"
        "<p>The program in the sandbox did not send a valid HTTP response to this request: its "
        "status is 600. Check the program, and what listens on that port.</p>\n</html>\n";
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;

    begin(fixture, &nginx, &program);
    say(program, "HTTP/1.1 600 X\r\n");
    hear_all(fixture, nginx, &heard);
    assert_string_equal(heard.text, expected);
}

/* nginx answers with its own page then. */
static void request_without_an_address_is_closed(void **state)
{
    static const char *const heads[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Deft-Address: nowhere\r\n\r\n",
        "GET / HTTP/1.1\r\nX-Deft-Address: 127.0.0.1:1\r\n\r\n",
    };
    struct relay_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(fd_close) int nginx = connect_nginx(fixture);

        say(nginx, heads[i]);
        hear_end(fixture, nginx);
        turn(fixture);
        assert_int_equal(fixture->relay.n_links, 0);
    }
}

static void head_of_a_request_is_limited(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = connect_nginx(fixture);
    char line[1024];

    memset(line, 'x', sizeof(line));
    for (size_t i = 0; i < 98304 / sizeof(line) - 1; i++) {
        assert_int_equal(send(nginx, line, sizeof(line), MSG_NOSIGNAL), sizeof(line));
        turn(fixture);
    }
    assert_int_equal(send(nginx, line, sizeof(line) - 1, MSG_NOSIGNAL), sizeof(line) - 1);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 1);
    say(nginx, "x");
    hear_end(fixture, nginx);
}

static void client_that_goes_ends_the_call(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = connect_nginx(fixture);
    CLEANUP(fd_close) int program = -1;

    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 1);
    fd_close(&nginx);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 0);
    begin(fixture, &nginx, &program);
    say(nginx, "last words");
    fd_close(&nginx);
    hear(fixture, program, "last words");
    hear_end(fixture, program);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 0);
}

static void program_that_goes_without_an_answer_ends_the_call(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;

    begin(fixture, &nginx, &program);
    say(program, "HTTP/1.1 2");
    turn(fixture);
    fd_close(&program);
    hear_all(fixture, nginx, &heard);
    assert_string_equal(heard.text, "");
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 0);
}

/* Sends as much as is taken while the other end reads nothing; then all comes, in order. */
static void send_large(struct relay_fixture *fixture, int from, int to, struct strbuf *heard)
{
    CLEANUP(strbuf_done) struct strbuf large = STRBUF_INIT;
    char bytes[READ_BYTES];
    size_t sent = 0;

    while (large.len < LARGE_BYTES)
        strbuf_appendf(&large, "%08zu", large.len);
    while (sent < large.len || heard->len < large.len) {
        ssize_t n = 0;

        if (sent < large.len) {
            n = send(from, large.text + sent, large.len - sent, MSG_NOSIGNAL);
            sent += n > 0 ? (size_t)n : 0;
        }
        turn(fixture);
        if (n <= 0 || sent == large.len) {
            n = recv(to, bytes, sizeof(bytes), 0);
            if (n > 0)
                strbuf_append_bytes(heard, bytes, (size_t)n);
        }
    }
    assert_int_equal(heard->len, large.len);
    assert_memory_equal(heard->text, large.text, large.len);
}

static void slow_ends_lose_nothing(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;

    begin(fixture, &nginx, &program);
    send_large(fixture, nginx, program, &request);
    say(program, OK_HEAD "\r\n");
    hear(fixture, nginx, OK_HEAD "\r\n");
    send_large(fixture, program, nginx, &answer);
    assert_int_equal(fixture->relay.n_links, 1);
}

/* What the relay still holds when the program has gone is passed on. */
static void rest_of_an_answer_is_passed_on(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(strbuf_done) struct strbuf large = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf heard = STRBUF_INIT;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;
    size_t sent = 0;
    ssize_t n = 0;

    begin(fixture, &nginx, &program);
    say(program, OK_HEAD "\r\n");
    while (large.len < 65536)
        strbuf_append(&large, "0123456789abcdef");
    do {
        n = send(program, large.text, large.len, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn(fixture);
    } while (n > 0);
    fd_close(&program);
    hear_all(fixture, nginx, &heard);
    assert_int_equal(heard.len, strlen(OK_HEAD "\r\n") + sent);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 0);
}

/* A client may send more than the program reads, and still gets the answer. */
static void program_need_not_read_the_request(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;
    char chunk[4096] = {0};

    begin(fixture, &nginx, &program);
    assert_int_equal(shutdown(program, SHUT_RD), 0);
    for (int i = 0; i < 64; i++) {
        if (send(nginx, chunk, sizeof(chunk), MSG_NOSIGNAL) < 0)
            assert_int_equal(errno, EAGAIN);
        turn(fixture);
    }
    say(program, OK_HEAD "\r\nanswer");
    hear(fixture, nginx, OK_HEAD "\r\nanswer");
}

static void socket_is_for_nginx_only(void **state)
{
    struct relay_fixture *fixture = *state;
    struct preview_relay none = PREVIEW_RELAY_INIT;
    struct preview_relay again = PREVIEW_RELAY_INIT;
    struct error err = ERROR_INIT;
    struct stat facts = {0};
    char path[200] = "";

    assert_int_equal(stat(fixture->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0660);
    assert_int_equal(preview_relay_open(&none, "", &err), 0);
    assert_int_equal(none.epoll_fd, -1);
    preview_relay_pump(&none);
    preview_relay_close(&none);
    assert_int_equal(preview_relay_open(&again, fixture->path, &err), 0); /* replaces it */
    preview_relay_close(&again);
    memset(path, 'x', sizeof(path) - 1);
    assert_int_equal(preview_relay_open(&again, path, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    preview_relay_close(&again);
    err = (struct error)ERROR_INIT;
    assert_int_equal(preview_relay_open(&again, "/nonexistent/socket", &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_true(text_starts_with(err.message, "listening on /nonexistent/socket: "));
    preview_relay_close(&again);
}

static void connections_are_limited(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int last = -1;
    CLEANUP(fd_close) int refused = -1;

    fixture->relay.n_links = 8191;
    last = connect_nginx(fixture);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 8192);
    refused = connect_nginx(fixture);
    hear_end(fixture, refused);
    assert_int_equal(fixture->relay.n_links, 8192);
    fd_close(&last);
    turn(fixture);
    assert_int_equal(fixture->relay.n_links, 8191);
}

static void open_connections_end_with_the_relay(void **state)
{
    struct relay_fixture *fixture = *state;
    CLEANUP(fd_close) int nginx = -1;
    CLEANUP(fd_close) int program = -1;
    char byte = 0;

    begin(fixture, &nginx, &program);
    preview_relay_close(&fixture->relay);
    assert_int_equal(recv(nginx, &byte, 1, 0), 0);
    assert_true(recv(program, &byte, 1, 0) <= 0);
    assert_int_equal(fixture->relay.n_links, 0);
    assert_int_equal(fixture->relay.epoll_fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_and_answer_are_passed_on),
        TEST(head_may_come_in_pieces),
        TEST(informational_answers_are_left_out),
        TEST(upgrade_must_have_been_asked_for),
        TEST(what_is_no_http_is_refused),
        TEST(page_of_a_refused_answer_is_whole),
        TEST(heads_of_an_answer_are_limited),
        TEST(request_without_an_address_is_closed),
        TEST(head_of_a_request_is_limited),
        TEST(client_that_goes_ends_the_call),
        TEST(program_that_goes_without_an_answer_ends_the_call),
        TEST(slow_ends_lose_nothing),
        TEST(rest_of_an_answer_is_passed_on),
        TEST(program_need_not_read_the_request),
        TEST(socket_is_for_nginx_only),
        TEST(connections_are_limited),
        TEST(open_connections_end_with_the_relay),
    };

    return cmocka_run_group_tests_name("gateway/preview/relay", tests, NULL, NULL);
}
