#include "fcgi/agent/conversation/worktree.h"

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "model/conversation/worktree.h"
#include "start/start_context.h"
#include "store/conversation/job_store.h"

/* Includes a cold start of the sandbox before the command. */
#define WAIT_MS ((int64_t)(WORKTREE_COMMAND_S + 60) * 1000)

/* {} after success, or the reason why there is no worktree. */
static int read_result(const json_t *result, struct error *err)
{
    const char *refused = json_text_or(result, "refused", NULL);
    const char *too_large = json_text_or(result, "too_large", NULL);
    const char *failed = json_text_or(result, "error", NULL);

    if (too_large != NULL)
        return error_set(err, ERROR_TOO_LARGE, "%s", too_large);
    if (refused != NULL)
        return error_set(err, ERROR_INVALID, "%s", refused);
    return failed != NULL ? error_set(err, ERROR_UNAVAILABLE, "%s", failed) : 0;
}

/* The job's key is the conversation's id. A result that another request has taken is a success. */
static int wait_for_job(const struct request *request, const struct uuid *key, struct error *err)
{
    json_auto_t *result = NULL;

    if (job_store_wait(request->context->db, key, clock_monotonic_ms() + WAIT_MS, &result, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    return read_result(result, err);
}

/*
 * The client gets an error, so the conversation must not remain. False if it was not deleted: its
 * start may have succeeded since.
 */
static bool undo(const struct request *request, const struct conversation *conversation)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct error err = ERROR_INIT;
    bool is_undone = true;

    if (conversation_store_undo_start(request->context->db, &scope, &conversation->id, &is_undone,
                                      &err) < 0)
        log_warning("start.undo_failed", LOG_STR("conversation_id", conversation->id.text),
                    LOG_ERROR(&err));
    return is_undone;
}

/* Fails with the reason why there is no worktree; for one still under way with `pending`. */
static int load_started(const struct request *request, struct conversation *conversation,
                        const struct error *pending, struct error *err)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (conversation_store_load(request->context->db, &scope, &conversation->id, &now, err) < 0 ||
        read_result(worktree_refusal(&now), err) < 0)
        return -1;
    if (worktree_is_pending(&now)) {
        *err = *pending;
        return -1;
    }
    conversation_done(conversation);
    *conversation = now;
    now = (struct conversation)CONVERSATION_INIT;
    return 0;
}

/*
 * The row decides, not the job's result: only one request can take the result, and the job may end
 * after the wait has timed out. The caller has a waiting slot.
 */
static int wait_and_load(const struct request *request, struct conversation *conversation,
                         struct error *err)
{
    struct error pending = ERROR_INIT;

    if (wait_for_job(request, &conversation->id, &pending) == 0)
        error_ignore(error_set(&pending, ERROR_UNAVAILABLE,
                               "the job that adds the worktree no longer exists"),
                     "only reported while the worktree is pending");
    if (load_started(request, conversation, &pending, err) == 0)
        return 0;
    return undo(request, conversation) ? -1 : load_started(request, conversation, &pending, err);
}

static int store_and_wait(const struct request *request, const struct start_context *context,
                          const struct start_order *order, enum start_outcome *outcome_out,
                          struct error *err)
{
    enum start_outcome outcome = START_STORED;

    if (start_store_order(context, order, &outcome, err) < 0 ||
        (outcome == START_PENDING && wait_and_load(request, order->conversation, err) < 0))
        return -1;
    *outcome_out = outcome == START_PENDING ? START_STORED : outcome;
    return 0;
}

int worktree_store(const struct request *request, const struct start_context *context,
                   const struct start_order *order, enum start_outcome *outcome_out,
                   struct error *err)
{
    struct wait_slots *slots = request->context->wait_slots;
    const struct uuid *user = &request->principal.user_id;
    int rc = 0;

    if (order->folder == START_IN_FOLDER)
        return start_store_order(context, order, outcome_out, err);
    if (wait_slot_take(slots, user, err) < 0)
        return -1;
    rc = store_and_wait(request, context, order, outcome_out, err);
    wait_slot_return(slots, user);
    return rc;
}

/* A user who writes to a conversation without its worktree continues without it. */
static bool is_started(const struct conversation *conversation)
{
    return !worktree_is_pending(conversation) && (worktree_refusal(conversation) == NULL ||
                                                  uuid_is_set(&conversation->last_user_message_id));
}

int worktree_wait(const struct request *request, struct conversation *conversation,
                  struct error *err)
{
    struct wait_slots *slots = request->context->wait_slots;
    const struct uuid *user = &request->principal.user_id;
    int rc = 0;

    if (is_started(conversation))
        return 0;
    if (wait_slot_take(slots, user, err) < 0)
        return -1;
    rc = wait_and_load(request, conversation, err);
    wait_slot_return(slots, user);
    return rc;
}
