/*
 * Alice's sandboxes for tests: their rows in the database, and a server that gives canned answers
 * in a sandbox's place.
 *
 * Ownership: a started server is the caller's until test_server_stop().
 */
#ifndef DEFT_TESTS_UNIT_FCGI_FAKE_SANDBOX_H
#define DEFT_TESTS_UNIT_FCGI_FAKE_SANDBOX_H

#include <stddef.h>

#include "client/test_server.h"
#include "fixture.h"

/* One answer; it ends with its connection. */
#define TEST_SAYS(status, body)                                                                    \
    {.bytes = "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n\r\n" body,                \
     .ending = TEST_CLOSE}

/* The row of a sandbox that runs at that address with the key "sandbox-key". */
void test_add_sandbox(void *state, const char *session, const char *url);
/* The session of Alice's shared sandbox. */
const char *test_alices_session(void *state, char session_out[40]);
void test_remove_sandbox(void *state);
/* The shared sandbox of Alice; it gives these answers, later requests get the last. */
struct test_server *test_start_sandbox(void *state, const struct test_reply *replies, size_t n);
/* The same for the sandbox of that session. */
struct test_server *test_start_sandbox_of(void *state, const char *session,
                                          const struct test_reply *replies, size_t n);

/* Points the context at a Runtime API that gives these answers. */
struct test_server *test_start_runtime_api(void *state, const struct test_reply *replies, size_t n);
void test_stop_runtime_api(void *state, struct test_server *server);

/* Fails the test unless request i contains that text. */
void assert_asked(struct test_server *server, size_t i, const char *text);
void assert_not_asked(struct test_server *server, size_t i, const char *text);
/* The body of request i; fails the test when there was none. Lives as long as the server. */
const char *test_asked_body(struct test_server *server, size_t i);
/* Fails the test unless the member of request i's body is this JSON (see assert_json_at()). */
#define assert_asked_json(server, i, path, expected)                                               \
    assert_json_at(test_asked_body((server), (i)), (path), (expected))

/* A conversation of Alice with a sandbox of its own; session_out is that sandbox's session. */
struct test_path test_docker_conversation(void *state, char session_out[80]);

#endif
