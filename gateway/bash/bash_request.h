/*
 * Requests to the server in a sandbox about its bash commands, and readers for the answers.
 *
 * An event is identified by its timestamp: it is unique within a sandbox and strictly increasing.
 * Ownership and threading: see gateway/core/async_http.h. Source: docs/api/action-server.md,
 * section 7.
 */
#ifndef DEFT_GATEWAY_BASH_BASH_REQUEST_H
#define DEFT_GATEWAY_BASH_BASH_REQUEST_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct async_call;
struct async_http;
struct error;
struct http_call;
struct sandbox_endpoint;

/* The sandbox to ask, and the client to ask with; borrows. */
struct bash_target {
    struct async_http *http;
    const struct sandbox_endpoint *endpoint;
};

/* Requests a page with only the newest event. */
int bash_request_newest(const struct bash_target *target, struct async_call *call,
                        struct error *err) NONNULL MUST_CHECK;
/*
 * Requests a page of the first events after that time; if there are none yet, the sandbox waits for
 * one.
 */
int bash_request_after(const struct bash_target *target, struct async_call *call, int64_t after_us,
                       int64_t wait_ms, struct error *err) NONNULL MUST_CHECK;
/* Starts a command; body as of start_bash_command. */
int bash_request_start(const struct bash_target *target, struct async_call *call, const char *body,
                       struct error *err) NONNULL MUST_CHECK;

/*
 * Reads the page, for async_call.done(). Fails with failure, or with ERROR_UNAVAILABLE for any
 * answer that is not a page.
 */
int bash_request_read_page(const struct http_call *answer, const struct error *failure,
                           json_t **page_out, struct error *err)
    __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* Checks that the command was accepted; ERROR_INVALID with the sandbox's message for a bad one. */
int bash_request_read_accepted(const struct http_call *answer, const struct error *failure,
                               struct error *err) __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
