/*
 * Shared by the tests of MCP clients: a server with canned replies, and options to reach it.
 */
#ifndef DEFT_TESTS_UNIT_CLIENT_MCP_FIXTURE_H
#define DEFT_TESTS_UNIT_CLIENT_MCP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/attr.h"
#include "base/error.h"
#include "client/http.h"
#include "client/mcp.h"
#include "client/test_server.h"
#include "support/json_path.h"

enum { PATIENCE_MS = 60000 };

#define HEAD(status, type)                                                                         \
    "HTTP/1.1 " status "\r\nContent-Type: " type "\r\nConnection: close\r\n\r\n"
#define JSON_HEAD HEAD("200 OK", "application/json")
#define EVENTS_HEAD HEAD("200 OK", "text/event-stream")
#define ACCEPTED "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
/* The connection ends when the client has read as much as it wants. */
#define ACCEPTED_WITHOUT_END HEAD("202 Accepted", "text/plain") "x"

struct mcp_fixture {
    struct test_server *server;
    struct http *http;
    struct mcp_options options;
    struct error err;
};

void mcp_fixture_start(struct mcp_fixture *fixture, const struct test_reply *replies, size_t n,
                       bool uses_sse) NONNULL;
void mcp_fixture_stop(struct mcp_fixture *fixture) NONNULL;

/* Whether request i has that header, with that value. */
bool mcp_fixture_has_header(const struct mcp_fixture *fixture, size_t i, const char *name,
                            const char *value) NONNULL MUST_CHECK;
/* The body of request i. */
const char *mcp_fixture_body(const struct mcp_fixture *fixture, size_t i) NONNULL MUST_CHECK;

/* Another thread, which cancels once so many requests have come and connections have ended. */
struct mcp_canceller {
    struct test_server *server;
    struct mcp *mcp;
    size_t n_requests;
    size_t n_ended;
    pthread_t thread;
};

void mcp_canceller_start(struct mcp_canceller *canceller) NONNULL;
void mcp_canceller_join(struct mcp_canceller *canceller) NONNULL;

#endif
