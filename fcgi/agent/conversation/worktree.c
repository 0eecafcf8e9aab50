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

/* The client gets an error, so the conversation must not remain. */
static void undo(const struct request *request, const struct conversation *conversation)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct error err = ERROR_INIT;

    if (conversation_store_delete(request->context->db, &scope, &conversation->id, &err) < 0)
        log_warning("start.undo_failed", LOG_STR("conversation_id", conversation->id.text),
                    LOG_ERROR(&err));
}

/* The caller has a waiting slot. */
static int wait_and_load(const struct request *request, struct conversation *conversation,
                         struct error *err)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (wait_for_job(request, &conversation->id, err) < 0) {
        undo(request, conversation);
        return -1;
    }
    if (conversation_store_load(request->context->db, &scope, &conversation->id, &now, err) < 0)
        return -1;
    if (worktree_is_pending(&now)) {
        undo(request, conversation);
        return error_set(err, ERROR_UNAVAILABLE, "the job that adds the worktree no longer exists");
    }
    conversation_done(conversation);
    *conversation = now;
    now = (struct conversation)CONVERSATION_INIT;
    return 0;
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

int worktree_wait(const struct request *request, struct conversation *conversation,
                  struct error *err)
{
    struct wait_slots *slots = request->context->wait_slots;
    const struct uuid *user = &request->principal.user_id;
    int rc = 0;

    if (!worktree_is_pending(conversation))
        return 0;
    if (wait_slot_take(slots, user, err) < 0)
        return -1;
    rc = wait_and_load(request, conversation, err);
    wait_slot_return(slots, user);
    return rc;
}
