#include "worker/agent/calls/run_end.h"

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "model/event/event.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/hooks/hook_run.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

void run_end_plan(struct event_list *events, enum execution_status status,
                  struct conversation_write *change)
{
    event_add_status(events, status);
    change->status = status_to_string(status);
    change->end_run = true;
    change->bump_snapshot = true;
}

bool run_end_asks_hooks(const struct agent *agent)
{
    return hook_run_has(agent, HOOK_STOP) &&
           agent->n_iterations < conversation_max_iterations(&agent->conversation);
}

void run_end_plan_finish(const struct agent *agent, struct event_list *events,
                         struct conversation_write *change)
{
    if (!run_end_asks_hooks(agent)) {
        run_end_plan(events, STATUS_FINISHED, change);
        return;
    }
    event_add_status(events, STATUS_FINISHED);
    change->status = status_to_string(STATUS_FINISHED);
}

static int note_over(struct agent *agent, int rc)
{
    if (rc == 0)
        agent->is_over = true;
    return rc;
}

int run_end_error(struct agent *agent, const char *code, const char *detail, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.guard = GUARD_LEASE};

    run_end_plan(&events, STATUS_ERROR, &change);
    event_add_conversation_error(&events, code, detail);
    log_info("run.failed", LOG_STR("code", code));
    return note_over(agent, event_writer_append_unless_spoken(agent, &events, &change, err));
}

int run_end_nothing(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.end_run = true, .bump_snapshot = true};

    return note_over(agent, event_writer_append_unless_spoken(agent, &events, &change, err));
}

int run_end_stuck(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.guard = GUARD_LEASE};

    run_end_plan(&events, STATUS_STUCK, &change);
    return note_over(agent, event_writer_append_unless_spoken(agent, &events, &change, err));
}

int run_end_pause(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write change = {.guard = GUARD_LEASE};

    run_end_plan(&events, STATUS_PAUSED, &change);
    event_add_pause(&events);
    return note_over(agent, event_writer_append(agent, &events, &change, err));
}

int run_end_interrupt(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;
    struct conversation_write change = {.guard = GUARD_LEASE};

    history_find_pending(&agent->history, &pending);
    /* Interrupts before the lease is released, so as not to hit actions of the next run. */
    if (pending.n > 0 && agent->sandbox != NULL)
        sandbox_interrupt(agent->sandbox);
    for (size_t i = 0; i < pending.n; i++) {
        struct call_ref ref = call_ref_of(&agent->history.items[pending.items[i]]);

        event_add_agent_error(&events, &ref, EVENT_INTERRUPTED_TEXT);
    }
    run_end_plan(&events, STATUS_PAUSED, &change);
    event_add_interrupt(&events);
    return note_over(agent, event_writer_append(agent, &events, &change, err));
}

void run_end_hand_over(struct agent *agent)
{
    struct error err = ERROR_INIT;

    if (conversation_store_hand_over(agent->context->db, &agent->lease, &err) < 0)
        log_warning("lease.left_to_expire", LOG_ERROR(&err));
    agent->is_over = true;
}
