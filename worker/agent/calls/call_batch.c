#include "worker/agent/calls/call_batch.h"

#include <stddef.h>

#include "base/error.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "worker/agent/calls/call_plan.h"
#include "worker/agent/calls/pending_call.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/sandbox/sandbox_call.h"

/* A call that was sent to the sandbox. */
struct running_call {
    struct sandbox_tool_call *sent;
    size_t at; /* in pending */
};

struct call_batch {
    struct agent *agent;
    const struct index_list *pending;
    struct call_plan plan;
    struct running_call running[TOOL_CONCURRENCY_MAX];
    size_t n_running;
    bool is_begun;  /* a call was started */
    bool must_wait; /* no call may start before a running one has ended */
};

static void plan_waiting(struct call_batch *batch)
{
    for (size_t i = 0; i < batch->plan.n; i++) {
        if (batch->plan.calls[i].progress == CALL_WAITING)
            pending_call_plan(batch->agent, batch->pending->items[i], &batch->plan.calls[i]);
    }
}

static void call_batch_init(struct call_batch *batch, struct agent *agent,
                            const struct index_list *pending)
{
    *batch = (struct call_batch){.agent = agent, .pending = pending};
    call_plan_init(&batch->plan, pending->n, conversation_tool_concurrency(&agent->conversation));
    plan_waiting(batch);
}

static void call_batch_done(struct call_batch *batch)
{
    for (size_t i = 0; i < batch->n_running; i++)
        sandbox_call_free(batch->running[i].sent);
    call_plan_done(&batch->plan);
}

bool call_batch_stops(enum stop_kind stop)
{
    return stop != STOP_NONE && stop != STOP_PAUSE;
}

/* Changes by a client, such as a new secret, take effect with the next call. */
static int take_changes(struct call_batch *batch, struct error *err)
{
    if (!event_writer_is_row_due(batch->agent))
        return 0;
    if (event_writer_refresh_row(batch->agent, err) < 0)
        return -1;
    plan_waiting(batch);
    return 0;
}

static int start_call(struct call_batch *batch, size_t at, struct error *err)
{
    struct agent *agent = batch->agent;
    struct planned_call *planned = &batch->plan.calls[at];
    struct sandbox_tool_call *sent = NULL;

    planned->progress = CALL_OVER;
    batch->is_begun = true;
    /* A finish that the user overtook, or a client, has settled it. */
    if (history_find_result(&agent->history, batch->pending->items[at]) != NULL)
        return 0;
    if (pending_call_begin(agent, batch->pending, at, &sent, &batch->must_wait, err) < 0)
        return -1;
    if (batch->must_wait)
        planned->progress = CALL_WAITING;
    if (sent == NULL)
        return 0;
    planned->progress = CALL_RUNNING;
    batch->running[batch->n_running++] = (struct running_call){sent, at};
    agent->n_open_calls = batch->n_running;
    return 0;
}

/* Starts all calls that may run now. */
static int start_calls(struct call_batch *batch, struct error *err)
{
    struct agent *agent = batch->agent;
    size_t next = call_plan_next(&batch->plan);

    while (next < batch->plan.n && !agent->is_over && !batch->must_wait) {
        if (batch->is_begun && call_batch_stops(run_control_stop(agent->control)))
            return 0;
        if (batch->is_begun && take_changes(batch, err) < 0)
            return -1;
        /* What a changed tool occupies may have changed, too. */
        next = call_plan_next(&batch->plan);
        if (next < batch->plan.n && start_call(batch, next, err) < 0)
            return -1;
        next = call_plan_next(&batch->plan);
    }
    return 0;
}

/* Waits for the first of the running calls to end, and stores its result. */
static int end_call(struct call_batch *batch, struct error *err)
{
    CLEANUP(sandbox_call_freep) struct sandbox_tool_call *ended = NULL;
    struct sandbox_tool_call *sent[TOOL_CONCURRENCY_MAX] = {NULL};
    size_t index = 0;

    for (size_t i = 0; i < batch->n_running; i++)
        sent[i] = batch->running[i].sent;
    if (sandbox_call_wait(batch->agent, sent, batch->n_running, &index, err) < 0)
        return -1;
    ended = sent[index];
    batch->plan.calls[batch->running[index].at].progress = CALL_OVER;
    batch->must_wait = false;
    batch->n_running--;
    for (size_t i = index; i < batch->n_running; i++)
        batch->running[i] = batch->running[i + 1];
    if (pending_call_end(batch->agent, ended, err) < 0)
        return -1;
    batch->agent->n_open_calls = batch->n_running;
    return 0;
}

int call_batch_run(struct agent *agent, const struct index_list *pending, struct error *err)
{
    CLEANUP(call_batch_done) struct call_batch batch = {.agent = NULL};

    call_batch_init(&batch, agent, pending);
    while (!agent->is_over) {
        if (start_calls(&batch, err) < 0)
            return -1;
        if (batch.n_running == 0)
            return 0;
        if (end_call(&batch, err) < 0)
            return -1;
    }
    return 0;
}
