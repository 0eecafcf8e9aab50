/*
 * Calls that the caller's thread drives while it waits for them, over connections that it keeps
 * open. Everything except direct_connections_new() and direct_connections_free() is internal to
 * lib/client.
 *
 * They take plain calls only: HTTP without TLS to a numeric address, as sandboxes have. Names,
 * TLS, streamed request bodies and unusual requests go through libcurl (transport.h).
 * Threading: everything from their thread, except direct_connections_wake().
 * Decision: docs/decisions/0008-http-transport.md
 */
#ifndef DEFT_CLIENT_DIRECT_CONNECTIONS_H
#define DEFT_CLIENT_DIRECT_CONNECTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct http_call;
struct direct_connections;
struct http_request;
struct strbuf;

/* Calls that one wait is for. */
#define DIRECT_WAIT_MAX 17

/* One thread's connections for calls that it drives itself. */
struct direct_connections *direct_connections_new(void) MUST_CHECK;
/* All calls over them must have been freed before. */
void direct_connections_free(struct direct_connections *direct);

/* The parsed URL of a plain request. */
struct direct_target {
    struct sockaddr_in address;
    const char *path; /* with query; borrowed from the URL */
};

/* Parses the address in a plain HTTP URL; false if it has a host name or is not such a URL. */
bool direct_request_read_address(const char *url,
                                 struct sockaddr_in *address_out) NONNULL MUST_CHECK;
/* The eventfd that wakes the thread's waits; -1 if there can be none. */
int direct_connections_wake_fd(struct direct_connections *direct) NONNULL MUST_CHECK;

/* True when the call can be made directly (direct_request.c). */
bool direct_request_is_possible(const struct http_request *request,
                                struct direct_target *target_out) NONNULL MUST_CHECK;
/* Appends the request up to its body (direct_request.c). */
void direct_request_append_head(const struct http_request *request,
                                const struct direct_target *target, struct strbuf *out) NONNULL;

/* Sends as much as possible without blocking; call->head and its body are set. */
void direct_call_begin(struct http_call *call, const struct sockaddr_in *address) NONNULL;
/* Waits until the call can make progress, times out, until_ms, or direct_connections_wake(); then
 * advances it. */
void direct_call_wait(struct http_call *call, int64_t until_ms) NONNULL;
/*
 * The same for several calls, at most DIRECT_WAIT_MAX, also such that the transport drives and
 * whose end wakes the thread (direct_connections_wake_fd()). True after such a wake-up.
 */
bool direct_calls_wait(struct direct_connections *direct, struct http_call *const *calls, size_t n,
                       int64_t until_ms) NONNULL;
/* Releases the call; a running one is ended and its connection closed. */
void direct_call_drop(struct http_call *call) NONNULL;
/* As direct_call_drop(), but keeps the connection if the rest of the reply arrives before its next
 * use. */
void direct_call_drain(struct http_call *call) NONNULL;
/*
 * Ends the current direct_call_wait() or the next one. From any thread, while a call over them
 * exists.
 */
void direct_connections_wake(struct direct_connections *direct) NONNULL;

#endif
