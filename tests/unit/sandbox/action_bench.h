/*
 * A whole deft-action in the test's process: the real routes, loop, forks and programs, and a
 * client on a TCP connection. Its workspace, home and journal are in a folder of the test's own.
 *
 * A test that waits for too long fails, instead of hanging.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_ACTION_BENCH_H
#define DEFT_TESTS_UNIT_SANDBOX_ACTION_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_server.h"
#include "sandbox/core/event_loop.h"
#include "support/json_path.h"
#include "unit/sandbox/sandbox_test.h"

struct http_server;

enum { BENCH_TEXTS = 256, BENCH_TEXT_BYTES = 4096 };

struct action_bench {
    struct action_config config;
    struct action_server server;
    struct http_server *http;
    char folder[32];    /* removed after the test */
    char workspace[48]; /* folder/work */
    char home[48];      /* folder/home */
    struct event_loop_timer watchdog;
    char texts[BENCH_TEXTS][BENCH_TEXT_BYTES];
    size_t n_texts;
    int n_descriptors; /* before the server was opened; as many are open after its end */
};

struct bench_reply {
    int status;
    struct strbuf head;
    struct strbuf body;
};

int action_bench_set_up(void **state);
int action_bench_tear_down(void **state);
/* Ends all parts of the server and opens them again, as a restart does. */
void action_bench_restart(struct action_bench *bench) NONNULL;

/* --- requests --- */

/*
 * Sends a request and runs the server until its reply is complete.
 *
 * line:    "GET /alive"
 * headers: lines that end with CRLF, or ""
 * body:    NULL: none
 */
struct bench_reply bench_ask(struct action_bench *bench, const char *line, const char *headers,
                             const char *body) __attribute__((nonnull(1, 2, 3))) MUST_CHECK;
/* Sends a request whose reply comes later; the client's socket. */
int bench_send(struct action_bench *bench, const char *line, const char *headers, const char *body)
    __attribute__((nonnull(1, 2, 3))) MUST_CHECK;
/* As above, with a body that may contain any bytes. */
int bench_send_bytes(struct action_bench *bench, const char *line, const char *headers,
                     const struct strbuf *body) NONNULL MUST_CHECK;
/* Runs the server until the reply is complete, and closes the socket. */
struct bench_reply bench_receive(struct action_bench *bench, int client) NONNULL MUST_CHECK;
void bench_reply_done(struct bench_reply *reply);
/* Runs the server until *done. */
void bench_run_until(struct action_bench *bench, const bool *done) NONNULL;

#define assert_reply(reply, status_expected, path, expected)                                       \
    do {                                                                                           \
        if ((reply).status != (status_expected))                                                   \
            fail_msg("status %d: %s", (reply).status, (reply).body.text);                          \
        assert_json_at((reply).body.text, (path), (expected));                                     \
    } while (0)

/* Asks, and asserts status and a member (path "" is the whole body) of the reply. */
#define assert_answers(bench, line, headers, body, status_expected, path, expected)                \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply reply_ =                                      \
            bench_ask((bench), (line), (headers), (body));                                         \
                                                                                                   \
        assert_reply(reply_, (status_expected), (path), (expected));                               \
    } while (0)

/* Asserts that the reply has the header with that value; NULL: that it has none. */
void assert_header(const struct bench_reply *reply, const char *name, const char *value)
    __attribute__((nonnull(1, 2)));

/* --- files --- */

/* A formatted text, which lives for a few more calls. */
const char *bench_text(struct action_bench *bench, const char *format, ...)
    __attribute__((nonnull(1, 2), format(printf, 2, 3))) MUST_CHECK;
/* The path of a name in the workspace, which lives as long. */
const char *bench_path(struct action_bench *bench, const char *name) NONNULL MUST_CHECK;
/* Writes a file of the workspace, with its folders. */
void bench_write(struct action_bench *bench, const char *name, const char *text) NONNULL;
void bench_write_bytes(struct action_bench *bench, const char *name, const char *bytes,
                       size_t len) NONNULL;
/* Asserts the content of a file of the workspace. */
void assert_file(struct action_bench *bench, const char *name, const char *text) NONNULL;
bool bench_has(struct action_bench *bench, const char *name) NONNULL MUST_CHECK;
/* Runs a line of sh in the workspace; fails the test when it fails. */
void bench_shell(struct action_bench *bench, const char *line) NONNULL;
/* The first line that it prints, as bench_text(). */
const char *bench_shell_line(struct action_bench *bench, const char *line) NONNULL MUST_CHECK;

#define BENCH_TEST(name)                                                                           \
    cmocka_unit_test_setup_teardown(name, action_bench_set_up, action_bench_tear_down)

#endif
