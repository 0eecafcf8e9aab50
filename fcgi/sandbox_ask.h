/*
 * A question of our own to the server in a sandbox, and its answer as JSON. What it answers is a
 * stranger's word: its size and depth are bounded, its members are to be checked.
 */
#ifndef DEFT_FCGI_SANDBOX_ASK_H
#define DEFT_FCGI_SANDBOX_ASK_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/sandbox_link.h"

struct error;
struct fcgi_context;
struct reply;

struct sandbox_question {
    struct sandbox_owner owner;
    const char *method; /* NULL: POST */
    const char *path;   /* of a call that may be made twice */
    const json_t *body; /* NULL: none */
    int64_t timeout_ms;
    const char *conversation; /* whose action it is; NULL: no action */
    int64_t fence;            /* of that conversation */
};

/*
 * Asks, starting the sandbox when it is down. ERROR_UNAVAILABLE in words when there is none, when
 * its server does not know the question (it is older), or answers nonsense; ERROR_INVALID with the
 * sandbox's words for a 4xx, ERROR_CONFLICT for a 409. Waits in a place of the owner's user: errors
 * of waits_begin(), too.
 */
int sandbox_ask(const struct fcgi_context *context, const struct sandbox_question *question,
                json_t **answer_out, struct error *err) NONNULL MUST_CHECK;

/* The same of a sandbox that runs: starts none. ERROR_NOT_FOUND when it does not run. */
int sandbox_ask_running(const struct fcgi_context *context, const struct sandbox_question *question,
                        json_t **answer_out, struct error *err) NONNULL MUST_CHECK;

/* The same where it is known to be; the question's owner is not looked at. */
int sandbox_ask_at(const struct fcgi_context *context, const struct sandbox_question *question,
                   const struct sandbox_endpoint *endpoint, json_t **answer_out,
                   struct error *err) NONNULL MUST_CHECK;

/*
 * What a handler does when the question failed: 502 in words where there is no sandbox to ask,
 * anything else stays an error. Returns what the handler returns.
 */
int sandbox_ask_failed(struct reply *reply, const struct error *err) NONNULL MUST_CHECK;

#endif
