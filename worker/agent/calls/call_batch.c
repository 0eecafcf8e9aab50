#include "worker/agent/calls/call_batch.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/http.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "worker/agent/calls/call_plan.h"
#include "worker/agent/calls/pending_call.h"
#include "worker/agent/calls/sub_agent_work.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/side_wait.h"
#include "worker/agent/mcp/program_progress.h"
#include "worker/agent/mcp/progress_notice.h"
#include "worker/agent/mcp/server_call.h"
#include "worker/agent/mcp/server_talk.h"
#include "worker/agent/sandbox/checkpoint.h"
#include "worker/agent/sandbox/sandbox_call.h"

/* A call that was sent to the sandbox or to a server. */
struct running_call {
    struct begun_call begun;
    size_t at; /* in pending */
};

struct call_batch {
    struct agent *agent;
    const struct index_list *pending;
    struct call_plan plan;
    struct running_call running[TOOL_CONCURRENCY_MAX];
    size_t n_running;
    struct server_talks talks; /* of the running calls at servers */
    struct program_progress programs;
    struct sub_agent_waits waits; /* of the running calls for sub-agents */
    bool is_begun;                /* a call was started */
    bool must_wait;               /* no call may start before a running one has ended */
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
    *batch = (struct call_batch){.agent = agent, .pending = pending, .programs.agent = agent};
    server_talks_init(&batch->talks, http_wake_fd(agent->direct));
    call_plan_init(&batch->plan, pending->n, conversation_tool_concurrency(&agent->conversation));
    plan_waiting(batch);
}

static void call_batch_done(struct call_batch *batch)
{
    /* All at once: each may take a second to tell its server. */
    server_talks_cancel(&batch->talks);
    for (size_t i = 0; i < batch->n_running; i++)
        begun_call_done(&batch->running[i].begun);
    program_progress_done(&batch->programs);
    server_talks_done(&batch->talks);
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

static void count_open_calls(struct call_batch *batch)
{
    batch->agent->n_open_calls = 0;
    for (size_t i = 0; i < batch->n_running; i++)
        batch->agent->n_open_calls += batch->running[i].begun.in_sandbox != NULL;
}

static int start_call(struct call_batch *batch, size_t at, struct error *err)
{
    struct agent *agent = batch->agent;
    struct planned_call *planned = &batch->plan.calls[at];
    struct begun_call begun = BEGUN_CALL_INIT;

    planned->progress = CALL_OVER;
    batch->is_begun = true;
    /* A finish that the user overtook, or a client, has settled it. */
    if (history_find_result(&agent->history, batch->pending->items[at]) != NULL)
        return 0;
    if (pending_call_begin(agent, batch->pending, at, &batch->talks, &begun, err) < 0)
        return -1;
    batch->must_wait = begun.is_early;
    if (batch->must_wait)
        planned->progress = CALL_WAITING;
    if (begun.waits.n > 0 || begun.waits.is_paused) {
        planned->progress = CALL_RUNNING;
        sub_agent_waits_add(&batch->waits, &begun.waits);
    }
    if (begun.in_sandbox == NULL && begun.at_server == NULL)
        return 0;
    planned->progress = CALL_RUNNING;
    batch->running[batch->n_running++] = (struct running_call){begun, at};
    if (begun.in_sandbox != NULL && begun.is_program)
        program_progress_add(&batch->programs, batch->pending->items[at]);
    count_open_calls(batch);
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

static size_t find_over_at_server(const struct call_batch *batch)
{
    for (size_t i = 0; i < batch->n_running; i++) {
        const struct server_call *call = batch->running[i].begun.at_server;

        if (call != NULL && server_call_is_over(call))
            return i;
    }
    return batch->n_running;
}

static bool has_ended_at_server(void *what)
{
    struct call_batch *batch = what;

    return server_talks_have_over(&batch->talks);
}

static void cancel_at_servers(void *what)
{
    struct call_batch *batch = what;

    server_talks_cancel(&batch->talks);
}

/* Tells subscribers what the running calls report. */
static int64_t tell_progress(void *what, struct http_call **request_out)
{
    struct call_batch *batch = what;
    int64_t now_ms = clock_monotonic_ms();
    int64_t left_ms = program_progress_settle(&batch->programs, now_ms);

    server_talks_see_reports(&batch->talks);
    for (size_t i = 0; i < batch->n_running; i++) {
        struct server_call *call = batch->running[i].begun.at_server;
        int64_t call_ms =
            call != NULL ? server_call_tell_progress(call, now_ms) : PROGRESS_NEVER_MS;

        left_ms = call_ms < left_ms ? call_ms : left_ms;
    }
    *request_out = batch->programs.request;
    return left_ms;
}

static struct side_wait side_of(struct call_batch *batch)
{
    return (struct side_wait){has_ended_at_server, cancel_at_servers, tell_progress, batch};
}

/* Waits for the first of the calls to end, of which some are in the sandbox. */
static int wait_in_sandbox(struct call_batch *batch, size_t *index_out, struct error *err)
{
    struct sandbox_tool_call *sent[TOOL_CONCURRENCY_MAX] = {NULL};
    size_t at[TOOL_CONCURRENCY_MAX + 1] = {0};
    const struct side_wait side = side_of(batch);
    size_t n = 0;
    size_t index = 0;
    int rc = 0;

    for (size_t i = 0; i < batch->n_running; i++) {
        if (batch->running[i].begun.in_sandbox == NULL)
            continue;
        sent[n] = batch->running[i].begun.in_sandbox;
        at[n++] = i;
    }
    batch->agent->side = &side;
    rc = sandbox_call_wait(batch->agent, sent, n, &index, err);
    batch->agent->side = NULL;
    if (rc < 0)
        return -1;
    *index_out = index < n ? at[index] : find_over_at_server(batch);
    return 0;
}

static int wait_for_end(struct call_batch *batch, size_t *index_out, struct error *err)
{
    const struct side_wait side = side_of(batch);

    if (batch->agent->n_open_calls > 0)
        return wait_in_sandbox(batch, index_out, err);
    if (server_talks_wait(&batch->talks, batch->agent->control, &side, err) < 0)
        return -1;
    *index_out = find_over_at_server(batch);
    return 0;
}

/* Waits for the first of the running calls to end, and stores its result. */
static int end_call(struct call_batch *batch, struct error *err)
{
    CLEANUP(begun_call_done) struct begun_call ended = BEGUN_CALL_INIT;
    size_t index = 0;

    if (wait_for_end(batch, &index, err) < 0)
        return -1;
    ended = batch->running[index].begun;
    batch->plan.calls[batch->running[index].at].progress = CALL_OVER;
    batch->must_wait = false;
    program_progress_remove(&batch->programs, batch->pending->items[batch->running[index].at]);
    batch->n_running--;
    for (size_t i = index; i < batch->n_running; i++)
        batch->running[i] = batch->running[i + 1];
    if (pending_call_end(batch->agent, &ended, err) < 0)
        return -1;
    count_open_calls(batch);
    return 0;
}

/* No call runs here any more: the run waits for sub-agents, unless it is to stop at once. */
static int wait_for_sub_agents(struct call_batch *batch, struct error *err)
{
    bool is_waiting = batch->waits.n > 0 || batch->waits.is_paused;

    if (!is_waiting || call_batch_stops(run_control_stop(batch->agent->control)))
        return 0;
    return sub_agent_work_wait(batch->agent, &batch->waits, err);
}

static int run_calls(struct call_batch *batch, struct error *err)
{
    while (!batch->agent->is_over) {
        if (start_calls(batch, err) < 0)
            return -1;
        if (batch->n_running == 0)
            return wait_for_sub_agents(batch, err);
        if (end_call(batch, err) < 0)
            return -1;
    }
    return 0;
}

int call_batch_run(struct agent *agent, const struct index_list *pending, struct error *err)
{
    struct call_batch batch;
    int rc = 0;

    if (checkpoint_settle(agent, pending, err) < 0)
        return -1;
    call_batch_init(&batch, agent, pending);
    rc = run_calls(&batch, err);
    call_batch_done(&batch);
    return rc;
}
