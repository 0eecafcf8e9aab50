/*
 * A conversation's sandbox as its run sees it: started in the background; runs actions by their
 * ids, each once even if it is requested repeatedly.
 *
 * Ownership: struct sandbox owns its calls and its key until sandbox_free(); it borrows the agent's
 *            context, control, conversation and lease.
 * Threading: a sandbox belongs to its conversation's thread.
 * Source:    docs/api/action-server.md, the Runtime API
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "worker/agent/sandbox/sandbox_http.h"

struct agent;
struct error;
struct http_call;
struct sandbox;

/* NULL if neither a tool nor a hook of the conversation needs a sandbox. */
struct sandbox *sandbox_new(const struct agent *agent) NONNULL MUST_CHECK;
void sandbox_free(struct sandbox *sandbox);

/* Begins to start it and returns; sandbox_ready() reports a failure. */
void sandbox_begin(struct sandbox *sandbox) NONNULL;
/* True if it is known to run: sandbox_ready() would not wait. */
bool sandbox_is_ready(struct sandbox *sandbox) NONNULL MUST_CHECK;
/*
 * Waits until it runs. ERROR_CANCELLED after a stop request, ERROR_UNAVAILABLE if it cannot be
 * started, with a message for the user.
 */
int sandbox_ready(struct sandbox *sandbox, struct error *err) NONNULL MUST_CHECK;
/*
 * The sandbox's identity: the same id means the same files and the same journal of actions.
 * Borrowed.
 */
const char *sandbox_runtime_id(const struct sandbox *sandbox) NONNULL MUST_CHECK;

/* The Runtime API's ids have 16 characters. */
#define SANDBOX_ID_BYTES 17

struct action_request {
    struct uuid action_id;
    char runtime_id[SANDBOX_ID_BYTES]; /* of the intended sandbox */
    const char *tool;
    const char *observation_kind;
    json_t *args;       /* the action's members except kind */
    json_t *env;        /* object of exports, or NULL */
    json_t *more;       /* further members, which may differ when it is repeated, or NULL */
    int64_t timeout_ms; /* after that the sandbox is considered hung */
};

struct action_result {
    enum sandbox_state state;
    json_t *observation; /* if FINISHED */
    char *reason;        /* if INTERRUPTED, as text */
};

/* clang-format off */
#define ACTION_RESULT_INIT {SANDBOX_UNKNOWN, NULL, NULL}
/* clang-format on */

void action_result_done(struct action_result *result);

/* An action on its way to its result. */
struct sandbox_action;

/*
 * Sends the request to run an action, to wait for it if it is running, or for its kept result, and
 * returns; sandbox_end_action() reports a failure. The order's text and JSON are borrowed until
 * sandbox_action_free().
 */
struct sandbox_action *sandbox_begin_action(struct sandbox *sandbox,
                                            const struct action_request *order) NONNULL MUST_CHECK;
/* False if the request could not be sent: sandbox_end_action() says why, or tries again. */
bool sandbox_action_is_sent(const struct sandbox_action *action) NONNULL MUST_CHECK;
/* Before its end: the action continues in the sandbox. */
void sandbox_action_free(struct sandbox_action *action);
/*
 * Waits until one of the actions, all of which were sent, can be ended, and gives its index. Fewer
 * than HTTP_WAIT_MAX. ERROR_CANCELLED after a stop request.
 */
int sandbox_wait_action(struct sandbox *sandbox, struct sandbox_action *const *actions, size_t n,
                        size_t *index_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Gives the result of an action that sandbox_wait_action() found or that was not sent: FINISHED or
 * INTERRUPTED. Restarts a sandbox that does not answer, and requests the action again.
 * ERROR_CANCELLED after a stop request; ERROR_NOT_FOUND if another sandbox replaced
 * order->runtime_id, which may or may not have run it; ERROR_CONFLICT if the sandbox knows a newer
 * holder of the conversation, or another action with that id; ERROR_INVALID, ERROR_TOO_LARGE for an
 * invalid reply; ERROR_TIMEOUT after timeout_ms; ERROR_UNAVAILABLE as sandbox_ready().
 */
int sandbox_end_action(struct sandbox_action *action, struct action_result *result_out,
                       struct error *err) NONNULL MUST_CHECK;
/* The state of an action in the sandbox; errors as above. */
int sandbox_query_action(struct sandbox *sandbox, const struct action_request *order,
                         struct action_result *result_out, struct error *err) NONNULL MUST_CHECK;
/* A request to the sandbox's server for one of deft's own purposes. */
struct sandbox_order {
    const char *path;
    const json_t *content;
    int64_t timeout_ms; /* once it runs */
};

/*
 * Waits until the sandbox runs, posts the content and gives the reply, a new reference. There is no
 * deduplication. Errors as sandbox_end_action(), without ERROR_NOT_FOUND; no retry if the sandbox
 * does not answer.
 */
int sandbox_ask(struct sandbox *sandbox, const struct sandbox_order *order, json_t **reply_out,
                struct error *err) NONNULL MUST_CHECK;
/*
 * As above up to the posting: another thread may wait for the call, which the caller frees, and
 * read its reply.
 */
int sandbox_ask_begin(struct sandbox *sandbox, const struct sandbox_order *order,
                      struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
/* The reply to a call that is over, a new reference. From any thread. */
int sandbox_ask_read(struct http_call *call, json_t **reply_out,
                     struct error *err) NONNULL MUST_CHECK;
/*
 * Starts a request that is over once a call of the conversation's MCP servers in the sandbox has
 * reported progress with a seq other than `after`; the caller frees it. Does not wait.
 */
int sandbox_ask_progress(struct sandbox *sandbox, int64_t after, struct http_call **call_out,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * Runs one of deft's own commands immediately, outside the conversation's shells: *answer_out =
 * {"exit_code", "stdout", "stderr"}, a new reference. May run twice. Errors as sandbox_ask().
 */
int sandbox_execute(struct sandbox *sandbox, const char *command, int64_t timeout_s,
                    json_t **answer_out, struct error *err) NONNULL MUST_CHECK;
/* Interrupts the conversation's running actions, within a second; no-op if it was never started. */
void sandbox_interrupt(struct sandbox *sandbox) NONNULL;
/* Ends the conversation's shells and forgets its actions, after the conversation was deleted. */
void sandbox_forget(struct sandbox *sandbox) NONNULL;
/* Creates the conversation's working directory, once per run: shells start there. */
void sandbox_make_working_dir(struct sandbox *sandbox) NONNULL;
/* The action's result is stored: the sandbox need not keep it. Sent in batches. */
void sandbox_acknowledge(struct sandbox *sandbox, const struct uuid *action_id) NONNULL;
/* Starts sending the acknowledgements; does not wait for the reply. */
void sandbox_send_acknowledged(struct sandbox *sandbox) NONNULL;
/* Waits briefly for acknowledgements being sent, then ends the call. */
void sandbox_settle(struct sandbox *sandbox) NONNULL;

#endif
