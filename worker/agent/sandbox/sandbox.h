/*
 * A conversation's sandbox as its run sees it: started in the background, asked to run actions
 * under their ids, so that each runs once however often it is asked for.
 *
 * Ownership: struct sandbox owns its calls and its key until sandbox_free(); it borrows the agent's
 *            context, control, conversation and lease.
 * Threading: a sandbox belongs to its conversation's thread.
 * Source:    docs/api/action-server.md, the Runtime API
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "worker/agent/sandbox/sandbox_question.h"

struct agent;
struct error;
struct sandbox;

/* NULL when none of the conversation's tools needs one. */
struct sandbox *sandbox_new(const struct agent *agent) NONNULL MUST_CHECK;
void sandbox_free(struct sandbox *sandbox);

/* Begins to start it, and returns; a failure is met by sandbox_ready(). */
void sandbox_begin(struct sandbox *sandbox) NONNULL;
/*
 * Waits until it runs. ERROR_CANCELLED after a stop request, ERROR_UNAVAILABLE when it cannot be
 * had: the message says why, in words for the user.
 */
int sandbox_ready(struct sandbox *sandbox, struct error *err) NONNULL MUST_CHECK;
/* Which sandbox it is: the same id, the same files and the same memory of actions. Borrowed. */
const char *sandbox_runtime_id(const struct sandbox *sandbox) NONNULL MUST_CHECK;

/* The Runtime API's ids have 16 letters. */
#define SANDBOX_ID_BYTES 17

struct sandbox_order {
    struct uuid action_id;
    char runtime_id[SANDBOX_ID_BYTES]; /* of the sandbox that is meant */
    const char *tool;
    const char *observation_kind;
    json_t *args;       /* the action's members without kind */
    json_t *env;        /* object of exports, or NULL */
    int64_t timeout_ms; /* after that the sandbox is taken for hung */
};

struct sandbox_result {
    enum sandbox_state state;
    json_t *observation; /* of FINISHED */
    char *reason;        /* of INTERRUPTED, in words */
};

/* clang-format off */
#define SANDBOX_RESULT_INIT {SANDBOX_UNKNOWN, NULL, NULL}
/* clang-format on */

void sandbox_result_done(struct sandbox_result *result);

/*
 * Runs an action, or waits for it when it runs, or takes its kept result: *result_out is FINISHED
 * or INTERRUPTED. Starts the sandbox again when it does not answer. ERROR_CANCELLED after a stop
 * request; ERROR_NOT_FOUND when another sandbox took the place of order->runtime_id, which may or
 * may not have run it; ERROR_CONFLICT when the sandbox knows a newer holder of the conversation, or
 * another action under that id; ERROR_INVALID, ERROR_TOO_LARGE for an impossible reply;
 * ERROR_TIMEOUT after timeout_ms; ERROR_UNAVAILABLE as sandbox_ready().
 */
int sandbox_run(struct sandbox *sandbox, const struct sandbox_order *order,
                struct sandbox_result *result_out, struct error *err) NONNULL MUST_CHECK;
/* What the sandbox knows of an action; errors as above. */
int sandbox_ask(struct sandbox *sandbox, const struct sandbox_order *order,
                struct sandbox_result *result_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Runs a command of deft's own, in no shell of the conversation's and at once:
 * *answer_out = {"exit_code", "stdout", "stderr"}, a new reference. Nothing keeps it from running
 * twice. Errors as sandbox_run(), without ERROR_NOT_FOUND; a sandbox that does not answer is not
 * tried again.
 */
int sandbox_execute(struct sandbox *sandbox, const char *command, int64_t timeout_s,
                    json_t **answer_out, struct error *err) NONNULL MUST_CHECK;
/* Interrupts what the conversation runs there, within a second; nothing when it was never started.
 */
void sandbox_interrupt(struct sandbox *sandbox) NONNULL;
/* Ends the conversation's shells and forgets its actions: the conversation is gone. */
void sandbox_forget(struct sandbox *sandbox) NONNULL;
/* Makes the conversation's working directory, once for each run: shells begin there. */
void sandbox_make_working_dir(struct sandbox *sandbox) NONNULL;
/* The action's result is stored: the sandbox need not keep it. Told with others. */
void sandbox_acknowledge(struct sandbox *sandbox, const struct uuid *action_id) NONNULL;
/* Begins to tell what was acknowledged; the answer is not waited for. */
void sandbox_send_acknowledged(struct sandbox *sandbox) NONNULL;
/* Ends what is on its way; waits a moment for it. */
void sandbox_settle(struct sandbox *sandbox) NONNULL;

#endif
