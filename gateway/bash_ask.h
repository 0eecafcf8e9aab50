/*
 * What is asked of the server in a sandbox about its bash commands, and how its answers are read.
 *
 * An event's time is its place: two events of a sandbox never share one, and it only grows.
 * Ownership and threading: see gateway/errand.h. Source: docs/api/action-server.md, section 7.
 */
#ifndef DEFT_GATEWAY_BASH_ASK_H
#define DEFT_GATEWAY_BASH_ASK_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct errand;
struct errands;
struct error;
struct http_call;
struct sandbox_endpoint;

/* Which sandbox, and by whom; borrows. */
struct bash_asker {
    struct errands *errands;
    const struct sandbox_endpoint *endpoint;
};

/* A page with the newest event alone. */
int bash_ask_newest(const struct bash_asker *asker, struct errand *errand,
                    struct error *err) NONNULL MUST_CHECK;
/* A page of the first events after that time; where there is none the sandbox waits for one. */
int bash_ask_after(const struct bash_asker *asker, struct errand *errand, int64_t after_us,
                   int64_t wait_ms, struct error *err) NONNULL MUST_CHECK;
/* Starts a command; body as of start_bash_command. */
int bash_ask_start(const struct bash_asker *asker, struct errand *errand, const char *body,
                   struct error *err) NONNULL MUST_CHECK;

/* The page, for errand.done(): failure, or ERROR_UNAVAILABLE for anything but a page. */
int bash_read_page(const struct http_call *call, const struct error *failure, json_t **page_out,
                   struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* Whether the command was taken; ERROR_INVALID with the sandbox's words when it is a bad one. */
int bash_read_taken(const struct http_call *call, const struct error *failure, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
