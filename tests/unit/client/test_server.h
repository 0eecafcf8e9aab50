/*
 * A server for tests of outbound calls: gives canned bytes, cut and closed as a test wants them.
 *
 * Ownership: test_server_stop() frees it; the replies are borrowed.
 * Threading: a thread for each connection; the questions may be asked from any thread.
 */
#ifndef DEFT_TESTS_UNIT_CLIENT_TEST_SERVER_H
#define DEFT_TESTS_UNIT_CLIENT_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct test_server;

enum test_ending {
    TEST_KEEP,  /* the next request may come on this connection */
    TEST_CLOSE, /* FIN */
    TEST_RESET, /* RST */
    TEST_HOLD,  /* silence, until the client goes or the server stops */
};

struct test_reply {
    const char *bytes; /* NULL: a small 200 */
    size_t len;        /* 0: up to the NUL */
    size_t n_times;    /* the bytes are sent so often; 0: once */
    size_t piece;      /* sent in pieces of so many bytes; 0: at once */
    int delay_ms;      /* before the first byte */
    size_t n_requests; /* sent only when so many requests have come */
    enum test_ending ending;
    bool is_early; /* sent once the head has come, whatever is still to come of the body */
};

/* Request i gets replies[i]; later ones get the last. unix_path: NULL for TCP on a free port. */
struct test_server *test_server_start(const struct test_reply *replies, size_t n,
                                      const char *unix_path);
/*
 * From now on it answers challenges with that proof key, at `address` (NULL: its own); such
 * requests are counted separately.
 */
void test_server_prove(struct test_server *server, const char *proof_key, const char *address);
size_t test_server_n_proofs(struct test_server *server);
/* How many requests came on connections on which it had proven itself. */
size_t test_server_n_after_proof(struct test_server *server);
void test_server_stop(struct test_server *server);
/* "http://127.0.0.1:port" + path; lives as long as the server, until the next call. */
const char *test_server_url(struct test_server *server, const char *path);
size_t test_server_n_requests(struct test_server *server);
size_t test_server_n_connections(struct test_server *server);
/* Replies that were sent, or cut by the client. */
size_t test_server_n_sent(struct test_server *server);
/* Waits until n connections have ended; false after a minute. */
bool test_server_wait_ended(struct test_server *server, size_t n);
/* The whole text of request i; lives as long as the server. */
const char *test_server_request(struct test_server *server, size_t i);
/* Waits until n requests have come; false after a minute. */
bool test_server_wait(struct test_server *server, size_t n);

#endif
