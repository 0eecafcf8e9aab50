/*
 * The server core: paths and patterns, bodies, replies, and a server with a real socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "web/fastcgi_server.h"
#include "web/reply_output.h"
#include "web/reply_status.h"
#include "web/request_input.h"
#include "web/transfer_rate.h"
#include "web/url_path.h"

enum { STOP_MS = 10000 };

static bool matches(const char *pattern, const char *target)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    struct error err = ERROR_INIT;

    assert_int_equal(url_path_read(&path, target, &err), 0);
    return url_path_matches(&path, pattern);
}

static void pattern_takes_segments_anywhere(void **state)
{
    (void)state;
    assert_true(matches("/runtime/{id}", "/runtime/a?b=1"));
    assert_true(matches("/runtime/{id}/log", "/runtime/a/log"));
    assert_false(matches("/runtime/{id}", "/runtime/"));
    assert_false(matches("/runtime/{id}", "/runtime/a/"));
    assert_false(matches("/runtime/{id}", "/runtime/a/b"));
    assert_false(matches("/runtime/{id}", "/runtime/.."));
    assert_false(matches("/files/{path*}", "/files/a/../b"));
    assert_true(matches("/files/{path*}", "/files/a/b"));
    assert_true(matches("/li%st", "/li%25st"));
}

static void parameters_are_decoded(void **state)
{
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(path_params_done) struct path_params params = {.n = 0};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(url_path_read(&path, "/a/x%2Fy+z/b/c/d", &err), 0);
    url_path_take_params(&path, "/a/{id}/{rest*}", &params);
    assert_string_equal(path_params_text(&params, "id"), "x/y+z");
    assert_string_equal(path_params_text(&params, "rest"), "b/c/d");
    assert_string_equal(path_params_text(&params, "other"), "");
}

static void path_that_is_no_text_is_refused(void **state)
{
    static const char *const targets[] = {"/a/%ff", "/a/%00b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
        struct error err = ERROR_INIT;

        assert_int_equal(url_path_read(&path, targets[i], &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

static void deep_path_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
    CLEANUP(url_path_done) struct url_path path = {.n_segments = 0};
    CLEANUP(url_path_done) struct url_path deeper = {.n_segments = 0};
    struct error err = ERROR_INIT;

    (void)state;
    for (int i = 0; i < PATH_MAX_SEGMENTS; i++)
        strbuf_append(&target, "/a");
    assert_int_equal(url_path_read(&path, target.text, &err), 0);
    strbuf_append(&target, "/a");
    assert_int_equal(url_path_read(&deeper, target.text, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

struct body {
    const char *at;
    size_t piece;
};

static int read_body(void *stream, char *buffer, int len)
{
    struct body *body = stream;
    size_t n = strlen(body->at);

    if (n > body->piece)
        n = body->piece;
    if (n > (size_t)len)
        n = (size_t)len;
    memcpy(buffer, body->at, n);
    body->at += n;
    return (int)n;
}

static enum error_code read_error(const char *text, int64_t content_length, size_t max_bytes)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct body source = {text, 3};
    const struct request_input input = {NULL, read_body, &source};
    struct error err = ERROR_INIT;

    if (request_input_read_body(&input, content_length, max_bytes, &body, &err) < 0)
        return err.code;
    assert_string_equal(body.text, text);
    return ERROR_NONE;
}

static void body_is_held_against_its_limit_and_length(void **state)
{
    (void)state;
    assert_int_equal(read_error("0123456789", 10, 10), ERROR_NONE);
    assert_int_equal(read_error("0123456789", -1, 10), ERROR_NONE);
    assert_int_equal(read_error("0123456789", 10, 9), ERROR_TOO_LARGE);
    assert_int_equal(read_error("0123456789", -1, 9), ERROR_TOO_LARGE);
    assert_int_equal(read_error("0123456789", 11, 20), ERROR_INVALID);
}

static int write_nothing(void *stream, const char *bytes, int len)
{
    size_t *n_left = stream;

    (void)bytes;
    if (*n_left < (size_t)len)
        return -1;
    *n_left -= (size_t)len;
    return 0;
}

static void reply_ends_when_the_client_is_gone(void **state)
{
    static const char bytes[40000] = "";
    size_t n_left = 20000;
    const struct reply_output output = {write_nothing, &n_left};
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};

    (void)state;
    assert_true(reply_output_write(&output, &rate, bytes, 10));
    assert_false(reply_output_write(&output, &rate, bytes, sizeof(bytes)));
}

/* As documented for clients, who decide by it whether to try again. */
static void every_error_has_its_status(void **state)
{
    static const int expected[ERROR_N_CODES] = {
        [ERROR_NONE] = 500,        [ERROR_INVALID] = 422,    [ERROR_UNAUTHENTICATED] = 401,
        [ERROR_FORBIDDEN] = 403,   [ERROR_NOT_FOUND] = 404,  [ERROR_CONFLICT] = 409,
        [ERROR_STALE] = 409,       [ERROR_TOO_LARGE] = 413,  [ERROR_RATE_LIMITED] = 429,
        [ERROR_TIMEOUT] = 504,     [ERROR_CANCELLED] = 503,  [ERROR_UNAVAILABLE] = 503,
        [ERROR_UNSUPPORTED] = 501, [ERROR_MEDIA_TYPE] = 415, [ERROR_SLOW_CLIENT] = 408,
        [ERROR_INTERNAL] = 500,
    };

    (void)state;
    for (int code = 0; code < ERROR_N_CODES; code++) {
        assert_int_equal(reply_status((enum error_code)code), expected[code]);
        assert_string_not_equal(reply_phrase(reply_status((enum error_code)code)), "Unknown");
    }
    assert_string_equal(reply_phrase(409), "Conflict");
    assert_string_equal(reply_phrase(299), "Unknown");
}

static void serve(void *context, const struct request_input *input,
                  const struct reply_output *output)
{
    static const char reply[] = "Status: 200\r\n\r\nhello";
    char *target = context;
    const char *uri = request_input_param(input, "REQUEST_URI");

    (void)snprintf(target, 64, "%s", uri != NULL ? uri : "");
    (void)!output->write(output->stream, reply, (int)strlen(reply));
}

/* FastCGI's records BEGIN_REQUEST, PARAMS, PARAMS (end), STDIN (end): section 3 of the protocol. */
static const unsigned char request_records[] = {
    1,   1, 0,  1, 0, 8,  0, 0,   0,   1,   0,   0,   0,   0,   0,   0,   1,   4,   0,
    1,   0, 15, 0, 0, 11, 2, 'R', 'E', 'Q', 'U', 'E', 'S', 'T', '_', 'U', 'R', 'I', '/',
    'x', 1, 4,  0, 1, 0,  0, 0,   0,   1,   5,   0,   1,   0,   0,   0,   0,
};

static void ask(const char *path, struct strbuf *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[512];
    ssize_t n = 0;

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(write(fd, request_records, sizeof(request_records)),
                     (ssize_t)sizeof(request_records));
    for (n = read(fd, bytes, sizeof(bytes)); n > 0; n = read(fd, bytes, sizeof(bytes)))
        strbuf_append_bytes(answer, bytes, (size_t)n);
    close(fd);
}

static void server_answers_and_stops(void **state)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    char folder[] = "/tmp/web_test.XXXXXX";
    char path[64];
    char target[64] = "";
    struct fastcgi_server *server = NULL;
    struct fastcgi_server *second = NULL;
    struct error err = ERROR_INIT;
    struct fastcgi_listener listener = {
        .path = path, .n_threads = 2, .mode = 0600, .serve = serve, .context = target};
    struct stat seen;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    assert_int_equal(fastcgi_server_start(&listener, 1, NULL, &server, &err), 0);
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(seen.st_mode & 0777, 0600);
    assert_int_equal(fastcgi_server_start(&listener, 1, NULL, &second, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    ask(path, &answer);
    assert_string_equal(target, "/x");
    assert_non_null(memmem(answer.text, answer.len, "hello", 5));
    fastcgi_server_close(server);
    assert_int_equal(fastcgi_server_wait(server, clock_monotonic_ms() + STOP_MS), 0);
    fastcgi_server_free(server);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
}

/* The time that was spent waiting for the client is over, and it has moved next to nothing. */
static void slow_client_ends_reading_and_writing(void **state)
{
    static const char bytes[] = "0123456789";
    size_t n_left = 1000;
    struct body source = {bytes, 3};
    const struct reply_output output = {write_nothing, &n_left};
    const struct request_input input = {NULL, read_body, &source};
    struct transfer_rate fast = {.grace_ms = 1000, .spent_ms = 60000, .n_bytes = 1 << 20};
    struct transfer_rate slow = {.grace_ms = 1000, .spent_ms = 60000};
    char buffer[sizeof(bytes)];
    struct error err = ERROR_INIT;

    (void)state;
    assert_true(reply_output_write(&output, &fast, bytes, sizeof(bytes)));
    assert_false(reply_output_write(&output, &slow, bytes, sizeof(bytes)));
    assert_int_equal(request_input_read(&input, &fast, buffer, sizeof(buffer), &err), 3);
    assert_int_equal(request_input_read(&input, &slow, buffer, sizeof(buffer), &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_CLIENT);
}

static void body_that_is_said_to_be_too_large_is_not_read(void **state)
{
    static const char bytes[] = "0123456789";
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct body source = {bytes, 3};
    const struct request_input input = {NULL, read_body, &source};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(request_input_read_body(&input, 10, 9, &body, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_ptr_equal(source.at, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pattern_takes_segments_anywhere),
        cmocka_unit_test(parameters_are_decoded),
        cmocka_unit_test(path_that_is_no_text_is_refused),
        cmocka_unit_test(deep_path_is_refused),
        cmocka_unit_test(body_is_held_against_its_limit_and_length),
        cmocka_unit_test(reply_ends_when_the_client_is_gone),
        cmocka_unit_test(every_error_has_its_status),
        cmocka_unit_test(server_answers_and_stops),
        cmocka_unit_test(slow_client_ends_reading_and_writing),
        cmocka_unit_test(body_that_is_said_to_be_too_large_is_not_read),
    };

    return cmocka_run_group_tests_name("web", tests, NULL, NULL);
}
