#include "worker/agent/calls/sub_agent_work.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/title.h"
#include "model/prompt/planned_events.h"
#include "model/tools/sub_agents.h"
#include "start/start_place.h"
#include "start/start_rows.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "store/conversation/task_store.h"
#include "worker/agent/calls/agent_start.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/run_wait.h"
#include "worker/context.h"

/* --- storing work --- */

typedef int store_work(struct db *db, const struct task_work *work, char stop_out[STOP_WORD_BYTES],
                       struct error *err);

/* The store's call that gives the work, and the word of a stop request that refused it. */
struct work_give {
    store_work *store;
    struct task_work work;
    char stop[STOP_WORD_BYTES];
};

static int try_give(struct agent *agent, void *call, struct error *err)
{
    struct work_give *give = call;

    if (give->store(agent->context->db, &give->work, give->stop, err) == 0)
        return 0;
    return error_is_transient(err) ? -1 : run_wait_refused(agent, give->stop, err);
}

static void take_state(struct agent *agent, json_t *state)
{
    if (state == NULL)
        return;
    json_incref(state);
    json_decref(agent->conversation.agent_state);
    agent->conversation.agent_state = state;
}

static int give_work(const struct sub_agent_work *work, struct work_give *give, struct error *err)
{
    struct agent *agent = work->agent;

    give->work.lease = &agent->lease;
    give->work.agent_state = work->state;
    crash_point(&agent->context->crash, CRASH_CHILD_BEFORE_COMMIT);
    if (database_retry(agent, try_give, give, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_CHILD_COMMITTED);
    take_state(agent, work->state);
    log_info("sub_agent.started", LOG_STR("child_id", work->child_id.text));
    return 0;
}

/* --- a new sub-agent --- */

static int try_place(struct agent *agent, void *child, struct error *err)
{
    const struct start_context context = agent_start_context(agent);

    return start_place_child(&context, &agent->conversation, child, err);
}

static int make_child(const struct sub_agent_work *work, const struct sub_agent_plan *plan,
                      struct conversation *child, struct error *err)
{
    struct agent *agent = work->agent;
    const struct sub_agent sub_agent = {
        .definition = plan->definition,
        .role = catalogue_text(agent->context->catalogue, TEXT_SUB_AGENT_ROLE),
        .allowance = plan->allowance};
    CLEANUP(mem_freep) char *title = title_from_text(plan->title);

    child->id = work->child_id;
    return sub_agent_make(&agent->context->keyring, &agent->conversation, &sub_agent,
                          title != NULL ? title : "", child, err);
}

int sub_agent_work_begin(const struct sub_agent_work *work, const struct sub_agent_plan *plan,
                         struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    struct work_give give = {
        task_store_begin, {.child = &child, .events = &rows.events, .write = &rows.write}, ""};

    if (make_child(work, plan, &child, err) < 0 ||
        database_retry(work->agent, try_place, &child, err) < 0 ||
        agent_start_plan(work->agent->context->catalogue, &child, work->prompt, &rows, err) < 0)
        return -1;
    return give_work(work, &give, err);
}

/* --- an existing one --- */

struct child_load {
    const struct uuid *id;
    struct conversation *child_out;
};

static int try_load_child(struct agent *agent, void *call, struct error *err)
{
    const struct child_load *load = call;

    return conversation_store_load_any(agent->context->db, load->id, load->child_out, err);
}

static int load_child(const struct sub_agent_work *work, struct conversation *child_out,
                      struct error *err)
{
    struct child_load load = {&work->child_id, child_out};

    return database_retry(work->agent, try_load_child, &load, err);
}

static int give_message(const struct sub_agent_work *work, struct conversation *child,
                        struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change planned = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct work_give give = {
        task_store_go_on, {.child = child, .events = &events, .write = &write}, ""};
    json_auto_t *content = json_array();

    json_push(content, text_content(work->prompt));
    if (conversation_plan_message(
            child,
            &(struct planned_message){work->agent->context->catalogue, content, MESSAGE_AND_RUN},
            &events, &planned, err) < 0)
        return -1;
    conversation_write_change(&planned, &write);
    return give_work(work, &give, err);
}

int sub_agent_work_go_on(const struct sub_agent_work *work, struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;

    if (load_child(work, &child, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "The conversation of that task was deleted.")
                   : -1;
    if (!text_equal(child.parent_id.text, work->agent->conversation.id.text))
        return error_set(err, ERROR_INVALID, "That task belongs to another conversation.");
    if (child.is_wanted)
        return error_set(err, ERROR_INVALID, "The sub-agent of that task is still running.");
    return give_message(work, &child, err);
}

/* --- one that has work --- */

static int run_again(const struct sub_agent_work *work, struct conversation *child,
                     struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change planned = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct work_give give = {
        task_store_go_on, {.child = child, .events = &events, .write = &write}, ""};
    const struct sub_agent_work same = {.agent = work->agent, .child_id = work->child_id};

    conversation_plan_run(work->agent->context->catalogue, child, &events, &planned);
    conversation_write_change(&planned, &write);
    return give_work(&same, &give, err);
}

struct wait_look {
    const struct uuid *child_id;
    bool is_waited;
};

static int try_look(struct agent *agent, void *call, struct error *err)
{
    struct wait_look *look = call;

    return task_store_is_waited_for(agent->context->db, &agent->conversation.id, look->child_id,
                                    &look->is_waited, err);
}

/* A sub-agent whose run was ended by a stop, without a result. */
static int settle_stopped(const struct sub_agent_work *work, struct conversation *child,
                          enum sub_agent_progress *progress_out, struct error *err)
{
    struct wait_look look = {&work->child_id, false};

    *progress_out = SUB_AGENT_PAUSED;
    if (run_control_stop(work->agent->control) == STOP_PAUSE)
        return 0;
    if (database_retry(work->agent, try_look, &look, err) < 0)
        return -1;
    *progress_out = look.is_waited ? SUB_AGENT_ENDED : SUB_AGENT_RUNS;
    return look.is_waited ? 0 : run_again(work, child, err);
}

int sub_agent_work_check(const struct sub_agent_work *work, struct conversation *child_out,
                         enum sub_agent_progress *progress_out, struct error *err)
{
    if (load_child(work, child_out, err) < 0) {
        *progress_out = SUB_AGENT_DELETED;
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    }
    *progress_out = child_out->is_wanted ? SUB_AGENT_RUNS : SUB_AGENT_ENDED;
    if (child_out->is_wanted ||
        (child_out->status != STATUS_PAUSED && child_out->status != STATUS_IDLE))
        return 0;
    return settle_stopped(work, child_out, progress_out, err);
}

/* --- waiting --- */

void sub_agent_waits_add(struct sub_agent_waits *waits, const struct sub_agent_waits *more)
{
    for (size_t i = 0; i < more->n && waits->n < ARRAY_SIZE(waits->ids); i++)
        waits->ids[waits->n++] = more->ids[i];
    waits->is_paused = waits->is_paused || more->is_paused;
}

static int try_wait(struct agent *agent, void *call, struct error *err)
{
    const struct sub_agent_waits *waits = call;

    if (task_store_suspend(agent->context->db, &agent->lease, waits->ids, waits->n, err) == 0)
        return 0;
    return error_is_transient(err) ? -1 : run_wait_refused(agent, "", err);
}

int sub_agent_work_wait(struct agent *agent, struct sub_agent_waits *waits, struct error *err)
{
    if (waits->n == 0 && waits->is_paused)
        return error_set(err, ERROR_CANCELLED, "the sub-agents are paused");
    crash_point(&agent->context->crash, CRASH_WAIT_BEFORE_COMMIT);
    if (database_retry(agent, try_wait, waits, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_WAIT_COMMITTED);
    log_info("run.suspended", LOG_INT("n_sub_agents", (int64_t)waits->n));
    agent->is_over = true;
    return 0;
}
