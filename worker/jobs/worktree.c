/*
 * Finishes the start of a conversation that is to have a git worktree of its own: adds the worktree
 * in its sandbox, then stores its path and the first message in one write.
 *
 * A worker that takes over the job after another one died runs the command again, which finds the
 * worktree by the conversation's id; the write happens once, since it ends the pending state.
 *
 * With {"content", "sender", "options"} of lib/start/start_rows.c. The result, for the waiting
 * handler, is {}, {"refused": git's words} or {"too_large": words}.
 *
 * Decision: docs/decisions/0073-worktree-jobs.md
 */
#include "model/conversation/worktree.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/job_store.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"

/* The outcome to store. */
struct worktree_outcome {
    const struct catalogue *catalogue;
    const json_t *payload;
    struct strbuf path;                 /* "": no repository; it works in its folder as it is */
    const json_t *refusal;              /* the job's result; NULL: none */
    const char *words;                  /* of the refusal */
    struct conversation_change planned; /* the write borrows from it */
};

/* clang-format off */
#define WORKTREE_OUTCOME_INIT {.path = STRBUF_INIT, .planned = CONVERSATION_CHANGE_INIT}
/* clang-format on */

static void worktree_outcome_done(struct worktree_outcome *outcome)
{
    strbuf_done(&outcome->path);
    conversation_change_done(&outcome->planned);
}

static int add_worktree(struct job_conversation *target, const json_t *payload,
                        struct strbuf *path_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf command = STRBUF_INIT;
    json_auto_t *answer = NULL;
    struct sandbox *sandbox = target->agent.sandbox;

    worktree_append_command(&target->agent.conversation, json_object_get(payload, "options"),
                            &command);
    if (sandbox_ready(sandbox, err) < 0 ||
        sandbox_execute(sandbox, command.text, WORKTREE_COMMAND_S, &answer, err) < 0)
        return -1;
    return worktree_read_answer(answer, path_out, err);
}

static void plan_message(struct conversation *now, struct worktree_outcome *outcome,
                         struct event_list *events, struct conversation_write *change)
{
    json_t *content = json_object_get(outcome->payload, "content");
    const struct planned_message message = {outcome->catalogue, content, MESSAGE_AND_RUN};
    struct error ignored = ERROR_INIT;

    /* The handler has read the content as a list. */
    if (content == NULL ||
        conversation_plan_message(now, &message, events, &outcome->planned, &ignored) < 0)
        return;
    event_list_set_sender(events, json_text_or(outcome->payload, "sender", NULL));
    conversation_write_change(&outcome->planned, change);
}

static void plan_outcome(struct conversation *now, const void *what, struct event_list *events,
                         struct conversation_write *change)
{
    struct worktree_outcome *outcome = *(struct worktree_outcome *const *)what;

    /* Another attempt has written it. */
    if (!worktree_is_pending(now))
        return;
    change->agent_state = now->agent_state;
    if (outcome->refusal != NULL) {
        worktree_set_refused(now, outcome->refusal);
        event_add_conversation_error(events, "WorktreeError", outcome->words);
        event_add_status(events, STATUS_ERROR);
        change->status = status_to_string(STATUS_ERROR);
        return;
    }
    worktree_set_settled(now);
    if (outcome->path.len > 0) {
        worktree_enter(now, outcome->path.text);
        change->spec = now->spec;
    }
    conversation_change_done(&outcome->planned);
    plan_message(now, outcome, events, change);
}

static int write_outcome(struct job_conversation *target, struct worktree_outcome *outcome,
                         struct error *err)
{
    const struct job_note note = {.plan = plan_outcome, .what = &outcome};

    return job_conversation_write(target, &note, err);
}

static json_t *result_of(const char *member, const char *words)
{
    json_t *result = json_object();

    json_put_text(result, member, words);
    return result;
}

/* Ends the start; *result_out says why. */
static int refuse(struct job_conversation *target, struct worktree_outcome *outcome,
                  const struct error *cause, json_t **result_out, struct error *err)
{
    json_auto_t *refusal =
        result_of(cause->code == ERROR_TOO_LARGE ? "too_large" : "refused", cause->message);

    outcome->refusal = refusal;
    outcome->words = cause->message;
    if (write_outcome(target, outcome, err) < 0)
        return -1;
    *result_out = json_incref(refusal);
    return 0;
}

int job_worktree(struct job_conversation *target, const struct job *job, json_t **result_out,
                 struct error *err)
{
    CLEANUP(worktree_outcome_done) struct worktree_outcome outcome = WORKTREE_OUTCOME_INIT;
    const json_t *refusal = worktree_refusal(&target->agent.conversation);
    struct error failure = ERROR_INIT;

    /* Another worker has written the refusal, and died before it could return it. */
    if (refusal != NULL) {
        *result_out = json_deep_copy(refusal);
        return 0;
    }
    outcome.catalogue = target->agent.context->catalogue;
    outcome.payload = job->payload;
    if (worktree_is_pending(&target->agent.conversation) &&
        add_worktree(target, job->payload, &outcome.path, &failure) < 0) {
        if (failure.code == ERROR_INVALID)
            return refuse(target, &outcome, &failure, result_out, err);
        if (failure.code != ERROR_NOT_FOUND) {
            *err = failure;
            return -1;
        }
    }
    if (write_outcome(target, &outcome, &failure) == 0) {
        *result_out = json_object();
        return 0;
    }
    if (failure.code == ERROR_TOO_LARGE)
        return refuse(target, &outcome, &failure, result_out, err);
    *err = failure;
    return -1;
}
