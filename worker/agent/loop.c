/* The steps of a run, from claim to end (see agent_run.h). */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/calls/call_batch.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/condensed_history.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/llm/condense.h"
#include "worker/agent/llm/llm_step.h"
#include "worker/agent/mcp/server_connections.h"
#include "worker/agent/mcp/server_listing.h"
#include "worker/agent/query/budget.h"
#include "worker/agent/run_files.h"
#include "worker/agent/run_hooks.h"
#include "worker/agent/sandbox/project_reading.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/agent/sandbox/server_reading.h"
#include "worker/agent/stuck.h"
#include "worker/context.h"

/* Class names of the wire contract. */
#define CODE_SANDBOX "RuntimeError"
#define CODE_ITERATIONS "MaxIterationsReached"
#define CODE_BUDGET "MaxBudgetReached"

static int end_out_of_steps(struct agent *agent, json_int_t limit, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;

    strbuf_appendf(&detail,
                   "The agent reached the limit of %lld iterations of one run without finishing. "
                   "Run the conversation again to let it go on.",
                   (long long)limit);
    return run_end_error(agent, CODE_ITERATIONS, detail.text, err);
}

static int end_given_up(struct agent *agent, struct error *err)
{
    return run_end_error(agent, CODE_SANDBOX,
                         "The run was abandoned: it was started several times and each time ended "
                         "without any progress. Run the conversation again to retry.",
                         err);
}

static int end_without_sandbox(struct agent *agent, const struct error *cause, struct error *err)
{
    return run_end_error(agent, CODE_SANDBOX, cause->message, err);
}

/* The lease is lost: the conversation was deleted, or another worker has it. */
static int end_lost(struct agent *agent)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    struct conversation_scope scope = {.user_id = agent->conversation.user_id};
    struct error err = ERROR_INIT;

    agent->is_over = true;
    log_info("lease.lost");
    if (conversation_store_load(agent->context->db, &scope, &agent->lease.conversation_id, &now,
                                &err) < 0 &&
        err.code == ERROR_NOT_FOUND && agent->sandbox != NULL)
        sandbox_forget(agent->sandbox);
    return 0;
}

static int end_as_asked(struct agent *agent, enum stop_kind stop, struct error *err)
{
    switch (stop) {
    case STOP_HAND_OVER:
        run_end_hand_over(agent);
        return 0;
    case STOP_PAUSE:
        return run_end_pause(agent, err);
    case STOP_INTERRUPT:
        return run_end_interrupt(agent, err);
    case STOP_LOST:
        return end_lost(agent);
    case STOP_NONE:
    case STOP_N_KINDS:
        break;
    }
    return 0;
}

/* A hook could not be asked: as a call that could not be run. */
static int settle_hook_failure(struct agent *agent, const struct error *failure, struct error *err)
{
    if (failure->code == ERROR_UNAVAILABLE)
        return end_without_sandbox(agent, failure, err);
    *err = *failure;
    return -1;
}

static int end_finished(struct agent *agent, struct error *err)
{
    struct error failure = ERROR_INIT;

    return run_hooks_end(agent, &failure) == 0 ? 0 : settle_hook_failure(agent, &failure, err);
}

/* Runs the hooks that come before the model's next call; sets *settled_out if there were any. */
static int ask_hooks(struct agent *agent, bool *settled_out, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (run_hooks_begin(agent, settled_out, &failure) == 0)
        return 0;
    *settled_out = true;
    return settle_hook_failure(agent, &failure, err);
}

static int run_pending(struct agent *agent, const struct index_list *pending, struct error *err)
{
    struct error failure = ERROR_INIT;

    if (call_batch_run(agent, pending, &failure) == 0)
        return 0;
    if (failure.code == ERROR_UNAVAILABLE)
        return end_without_sandbox(agent, &failure, err);
    /* A pause waits for a running call, but only for a limited time for a sandbox to start. */
    if (failure.code == ERROR_CANCELLED && run_control_stop(agent->control) == STOP_PAUSE)
        return run_end_pause(agent, err);
    *err = failure;
    return -1;
}

/* Checks whether the agent repeats itself; sets *settled_out if that completes the step. */
static int look_for_circles(struct agent *agent, bool *settled_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf nudge = STRBUF_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct stuck_thresholds thresholds = stuck_thresholds_of(agent->conversation.spec);
    enum stuck_verdict verdict = STUCK_NO;

    if (json_bool_or(agent->conversation.spec, "stuck_detection", 1) != 0)
        verdict = stuck_look(&agent->history, &thresholds, &nudge);
    *settled_out = verdict == STUCK_YES;
    if (verdict == STUCK_NO)
        return 0;
    if (verdict == STUCK_YES)
        return run_end_stuck(agent, err);
    (void)event_add_environment_message(&events, nudge.text);
    return event_writer_append(agent, &events, NULL, err);
}

/* Nothing refers to the history by index here. */
static void leave_out_forgotten(struct agent *agent)
{
    const struct stuck_thresholds thresholds = stuck_thresholds_of(agent->conversation.spec);

    condensed_history_settle(agent, stuck_events_looked_at(&thresholds));
}

static int step(struct agent *agent, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    json_int_t limit = conversation_max_iterations(&agent->conversation);
    enum stop_kind stop = run_control_stop(agent->control);
    bool is_settled = false;

    if (event_writer_refresh_row(agent, err) < 0)
        return -1;
    server_connections_settle(agent);
    leave_out_forgotten(agent);
    history_find_pending(&agent->history, &pending);
    /* A step is an answer and its calls: a pause takes effect after them. */
    if (call_batch_stops(stop) || (stop == STOP_PAUSE && pending.n == 0))
        return end_as_asked(agent, stop, err);
    if (run_files_restore(agent, &is_settled, err) < 0 || is_settled)
        return is_settled ? 0 : -1;
    if (agent->conversation.status == STATUS_FINISHED)
        return end_finished(agent, err);
    if (pending.n > 0)
        return run_pending(agent, &pending, err);
    if (agent->n_iterations >= limit)
        return end_out_of_steps(agent, limit, err);
    if (budget_check_call(agent, &detail, err) < 0)
        return -1;
    if (detail.len > 0)
        return run_end_error(agent, CODE_BUDGET, detail.text, err);
    /* The workspace may have hooks. */
    if (project_reading_settle(agent, err) < 0 || server_reading_settle(agent, err) < 0 ||
        server_listing_settle(agent, err) < 0 || ask_hooks(agent, &is_settled, err) < 0)
        return -1;
    if (!is_settled && look_for_circles(agent, &is_settled, err) < 0)
        return -1;
    if (!is_settled && condense_if_due(agent, &is_settled, err) < 0)
        return -1;
    return is_settled ? 0 : llm_step_run(agent, err);
}

/*
 * A sandbox that was used before will be used again: its address is known by the time that the
 * model is asked, so that the checkpoint of its files is taken meanwhile.
 */
static void wake_known_sandbox(struct agent *agent)
{
    if (agent->sandbox != NULL && run_control_stop(agent->control) == STOP_NONE &&
        agent->conversation.status != STATUS_FINISHED &&
        json_object_get(agent->conversation.agent_state, AGENT_STATE_SANDBOX) != NULL)
        sandbox_begin(agent->sandbox);
}

/* Sets the status to `running`, unless the request for the run has already done so. */
static int begin(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.status = status_to_string(STATUS_RUNNING)};

    if (event_writer_load(agent, err) < 0)
        return -1;
    agent->claimed_seq = agent->history.last_seq;
    agent->n_iterations = history_count_iterations(&agent->history);
    /* Otherwise another worker's model would be sent the view that is too long again. */
    agent->must_condense = model_view_owes_condensation(&agent->history);
    if (agent->n_claims > CLAIMS_MAX)
        return end_given_up(agent, err);
    wake_known_sandbox(agent);
    if (agent->conversation.status == STATUS_RUNNING ||
        agent->conversation.status == STATUS_FINISHED)
        return 0;
    event_add_status(&events, STATUS_RUNNING);
    return event_writer_append(agent, &events, &change, err);
}

/* The stored history is the only state: any worker can continue where another one stopped. */
static int run_steps(struct agent *agent, struct error *err)
{
    if (begin(agent, err) < 0 && err->code != ERROR_CONFLICT)
        return -1;
    while (!agent->is_over) {
        /* New events or a stop request: the next step handles them. */
        if (step(agent, err) < 0 && err->code != ERROR_CONFLICT && err->code != ERROR_CANCELLED)
            return -1;
    }
    return 0;
}

void agent_run(struct agent *agent)
{
    struct error err = ERROR_INIT;

    if (run_steps(agent, &err) < 0) {
        if (err.code == ERROR_STALE)
            (void)end_lost(agent);
        else
            /* The lease expires by itself, which delays the next try. */
            log_error("run.aborted", LOG_ERROR(&err));
    }
    if (agent->sandbox == NULL)
        return;
    sandbox_send_acknowledged(agent->sandbox);
    sandbox_settle(agent->sandbox);
}
