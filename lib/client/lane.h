/*
 * Calls that their caller's thread moves on while it waits for them, over connections that it
 * keeps. All but http_lane_new() and http_lane_free() is for the inside of lib/client.
 *
 * A lane takes what is plain: HTTP without TLS to an address written in numbers, as sandboxes have.
 * Names, TLS, streamed bodies and odd requests are for libcurl, that is for the transport.
 * Threading: all from the lane's thread, but for lane_wake().
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

/* The connections that one thread keeps for calls which it drives itself, while it waits for them.
 */
struct http_lane *http_lane_new(void) MUST_CHECK;
/* All calls of the lane must have been freed before. */
void http_lane_free(struct http_lane *lane);

/* What the URL of a plain request says. */
struct lane_target {
    struct sockaddr_in address;
    const char *host; /* and port; borrowed from the URL */
    int host_len;
    const char *path; /* and query; borrowed from the URL */
};

/* The address in a URL of plain HTTP; false when it holds a name, or is no such URL. */
bool lane_read_address(const char *url, struct sockaddr_in *address_out) NONNULL MUST_CHECK;
/* True when a lane can make this call (lane_request.c). */
bool lane_takes(const struct http_request *request,
                struct lane_target *target_out) NONNULL MUST_CHECK;
/* Appends the request up to its body (lane_request.c). */
void lane_append_head(const struct http_request *request, const struct lane_target *target,
                      struct strbuf *out) NONNULL;

/* Sends what can be sent at once; call->head and its body are set. */
void lane_begin(struct http_call *call, const struct sockaddr_in *address) NONNULL;
/* Waits until the call can move, its time is over, until_ms, or lane_wake(); then moves it on. */
void lane_turn(struct http_call *call, int64_t until_ms) NONNULL;
/* Releases the call; one that runs is ended, and its connection with it. */
void lane_drop(struct http_call *call) NONNULL;
/* As lane_drop(), but the connection is kept, if the rest of the answer comes before its next use.
 */
void lane_drain(struct http_call *call) NONNULL;
/* Ends the turn that waits, or the next one. From any thread, while a call of the lane lives. */
void lane_wake(struct http_lane *lane) NONNULL;

#endif
