/*
 * Progress of the running calls of programs: a request to the sandbox waits for it next to them.
 *
 * Ownership: embedded; program_progress_done().
 * Threading: the conversation's thread.
 * Source: docs/api/action-server.md, section 3.2
 */
#ifndef DEFT_WORKER_AGENT_MCP_PROGRAM_PROGRESS_H
#define DEFT_WORKER_AGENT_MCP_PROGRAM_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "model/limits.h"

struct agent;
struct http_call;

struct program_progress {
    struct agent *agent;
    size_t actions[TOOL_CONCURRENCY_MAX]; /* indexes of the running calls in the history */
    size_t n_actions;
    struct http_call *request; /* NULL: none waits */
    int64_t seq;               /* of the newest report that was told */
    int64_t due_ms;            /* when to ask again */
    bool is_unknown;           /* the sandbox does not tell */
};

void program_progress_done(struct program_progress *progress) NONNULL;
/* A call of a program runs: most end before it is asked about. */
void program_progress_add(struct program_progress *progress, size_t action) NONNULL;
/* It has ended. */
void program_progress_remove(struct program_progress *progress, size_t action) NONNULL;
/*
 * Tells subscribers of what the sandbox has told, and asks again when it is due. Returns the time
 * until it wants another turn, unless the request is over before.
 */
int64_t program_progress_settle(struct program_progress *progress, int64_t now_ms) NONNULL;

#endif
