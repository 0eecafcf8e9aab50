/*
 * Runs stored tool calls in the conversation's sandbox, several at once if wanted: each once,
 * whichever worker began it.
 *
 * Ownership: a call borrows the agent until it is freed.
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_CALL_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct agent;
struct agent_tool;
struct error;

struct sandbox_tool_call;

/* How a call is sent to the sandbox: see struct action_request. */
struct sandbox_call_form {
    const char *tool;
    const char *observation_kind;
    json_t *args;
    json_t *more;
    int64_t timeout_ms;
};

/* Why a call has no observation, for the model. */
struct call_problem {
    struct strbuf text;
    bool is_of_sandbox; /* else of the call itself */
};

/* clang-format off */
#define CALL_PROBLEM_INIT {STRBUF_INIT, false}
/* clang-format on */

void call_problem_done(struct call_problem *problem) NONNULL;

/*
 * Sends the call to the sandbox and returns; sandbox_call_end() reports a failure. action: index of
 * its event in the history.
 */
struct sandbox_tool_call *sandbox_call_begin(struct agent *agent, size_t action,
                                             const struct agent_tool *tool) NONNULL MUST_CHECK;
/* The same for a tool that is not one of the sandbox's own; the form's JSON is borrowed. */
struct sandbox_tool_call *
sandbox_call_begin_as(struct agent *agent, size_t action,
                      const struct sandbox_call_form *form) NONNULL MUST_CHECK;
/*
 * True if it was not sent because other calls are open in a sandbox that has been replaced: they
 * must have their results before another sandbox is noted, or a take-over could run them again.
 * It is to be freed, and begun again after them.
 */
bool sandbox_call_is_early(const struct sandbox_tool_call *call) NONNULL MUST_CHECK;
/* False if it could not be sent: sandbox_call_end() says why, or tries again. */
bool sandbox_call_is_sent(const struct sandbox_tool_call *call) NONNULL MUST_CHECK;
/* Before its end: the call continues in the sandbox. */
void sandbox_call_free(struct sandbox_tool_call *call);
void sandbox_call_freep(struct sandbox_tool_call **call) NONNULL;
size_t sandbox_call_action(const struct sandbox_tool_call *call) NONNULL MUST_CHECK;
/*
 * Waits until one of the calls, all of which were sent, can be ended, and gives its index. At most
 * TOOL_CONCURRENCY_MAX. The index is n if the agent's side work has ended first. ERROR_CANCELLED
 * after a stop request.
 */
int sandbox_call_wait(struct agent *agent, struct sandbox_tool_call *const *calls, size_t n,
                      size_t *index_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Gives the observation (a new reference) of a call that sandbox_call_wait() found or that was not
 * sent, or sets *problem_out. ERROR_CANCELLED after a stop request, ERROR_STALE
 * if the lease is lost, ERROR_UNAVAILABLE if there is no sandbox, with a message for the user.
 */
int sandbox_call_end(struct sandbox_tool_call *call, json_t **observation_out,
                     struct call_problem *problem_out, struct error *err) NONNULL MUST_CHECK;

#endif
