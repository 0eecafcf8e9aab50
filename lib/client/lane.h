/*
 * Calls that the caller's thread drives while it waits for them, over connections that it keeps
 * open. Everything except http_lane_new() and http_lane_free() is internal to lib/client.
 *
 * A lane takes plain calls only: HTTP without TLS to a numeric address, as sandboxes have. Names,
 * TLS, streamed request bodies and unusual requests go through libcurl (transport.h).
 * Threading: everything from the lane's thread, except lane_wake().
 * Decision: docs/decisions/0008-http-transport.md
 */
#ifndef DEFT_CLIENT_LANE_H
#define DEFT_CLIENT_LANE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct http_call;
struct http_lane;
struct http_request;
struct strbuf;

/* One thread's connections for calls that it drives itself. */
struct http_lane *http_lane_new(void) MUST_CHECK;
/* All calls of the lane must have been freed before. */
void http_lane_free(struct http_lane *lane);

/* The parsed URL of a plain request. */
struct lane_target {
    struct sockaddr_in address;
    const char *host; /* with port; borrowed from the URL */
    int host_len;
    const char *path; /* with query; borrowed from the URL */
};

/* Parses the address in a plain HTTP URL; false if it has a host name or is not such a URL. */
bool lane_read_address(const char *url, struct sockaddr_in *address_out) NONNULL MUST_CHECK;
/* True when a lane can make this call (lane_request.c). */
bool lane_takes(const struct http_request *request,
                struct lane_target *target_out) NONNULL MUST_CHECK;
/* Appends the request up to its body (lane_request.c). */
void lane_append_head(const struct http_request *request, const struct lane_target *target,
                      struct strbuf *out) NONNULL;

/* Sends as much as possible without blocking; call->head and its body are set. */
void lane_begin(struct http_call *call, const struct sockaddr_in *address) NONNULL;
/* Waits until the call can make progress, times out, until_ms, or lane_wake(); then advances it. */
void lane_turn(struct http_call *call, int64_t until_ms) NONNULL;
/* Releases the call; a running one is ended and its connection closed. */
void lane_drop(struct http_call *call) NONNULL;
/* As lane_drop(), but keeps the connection if the rest of the reply arrives before its next use. */
void lane_drain(struct http_call *call) NONNULL;
/*
 * Ends the current lane_turn() or the next one. From any thread, while a call of the lane exists.
 */
void lane_wake(struct http_lane *lane) NONNULL;

#endif
