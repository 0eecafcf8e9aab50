#include "worker/agent/calls/task_call.h"

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/task.h"
#include "model/event/event.h"
#include "model/event/stats.h"
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
#include "worker/agent/calls/task_result.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/database_retry.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/run_wait.h"
#include "worker/context.h"

/* A call and its resolved parameters. */
struct task_invocation {
    struct agent *agent;
    size_t action;
    const json_t *args;
    json_t *state; /* the future agent_state; takes effect when stored */
};

static const struct uuid *call_id(const struct task_invocation *invocation)
{
    return &invocation->agent->history.items[invocation->action].id;
}

struct child_load {
    const struct uuid *id;
    struct conversation *child_out;
};

static int try_load_child(struct agent *agent, void *call, struct error *err)
{
    const struct child_load *load = call;

    return conversation_store_load_any(agent->context->db, load->id, load->child_out, err);
}

static int load_child(struct agent *agent, const struct uuid *id, struct conversation *child_out,
                      struct error *err)
{
    struct child_load load = {id, child_out};

    return database_retry(agent, try_load_child, &load, err);
}

static int try_place(struct agent *agent, void *child, struct error *err)
{
    const struct start_context context = agent_start_context(agent);

    return start_place_child(&context, &agent->conversation, child, err);
}

/* --- waiting --- */

typedef int store_wait(struct db *db, const struct task_wait *wait, const struct task_work *work,
                       char stop_out[STOP_WORD_BYTES], struct error *err);

static int wait_again(struct db *db, const struct task_wait *wait, const struct task_work *work,
                      char stop_out[STOP_WORD_BYTES], struct error *err)
{
    (void)work;
    return task_store_wait_again(db, wait, stop_out, err);
}

/* The store's call that lets the run wait, and the word of a stop request that refused it. */
struct wait_begin {
    store_wait *store;
    const struct task_wait *wait;
    const struct task_work *work; /* NULL if `store` needs none */
    char stop[STOP_WORD_BYTES];
};

static int try_wait(struct agent *agent, void *call, struct error *err)
{
    struct wait_begin *begin = call;

    if (begin->store(agent->context->db, begin->wait, begin->work, begin->stop, err) == 0)
        return 0;
    return error_is_transient(err) ? -1 : run_wait_refused(agent, begin->stop, err);
}

/* work: NULL if `store` needs none. */
static int wait_for(const struct task_invocation *invocation, const struct uuid *child_id,
                    store_wait *store, const struct task_work *work, struct error *err)
{
    struct agent *agent = invocation->agent;
    const struct task_wait wait = {
        .lease = &agent->lease, .agent_state = invocation->state, .child_id = *child_id};
    struct wait_begin begin = {store, &wait, work, ""};

    crash_point(&agent->context->crash, CRASH_CHILD_BEFORE_COMMIT);
    if (database_retry(agent, try_wait, &begin, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_CHILD_COMMITTED);
    log_info("run.suspended", LOG_STR("child_id", child_id->text));
    agent->is_over = true;
    return 0;
}

/* --- a new sub-agent --- */

/* What the budget leaves for a sub-agent; -1: any amount. */
static double allowance_of(const struct agent *agent)
{
    double budget = conversation_budget(&agent->conversation);
    double left = budget - stats_total_cost(agent->stats);

    if (budget < 0)
        return -1;
    return left > 0 ? left : 0;
}

static int make_child(const struct task_invocation *invocation, const json_t *definition,
                      struct conversation *child, struct error *err)
{
    struct agent *agent = invocation->agent;
    const struct sub_agent sub_agent = {
        .definition = definition,
        .role = catalogue_text(agent->context->catalogue, TEXT_SUB_AGENT_ROLE),
        .allowance = allowance_of(agent)};
    const char *prompt = json_text_or(invocation->args, "prompt", "");
    CLEANUP(mem_freep) char *title =
        title_from_text(json_text_or(invocation->args, "description", prompt));

    child->id = child_conversation_id(&agent->conversation.id, call_id(invocation));
    return sub_agent_make(&agent->context->keyring, &agent->conversation, &sub_agent,
                          title != NULL ? title : "", child, err);
}

/* The child takes over its parent's place among the runs of their user, so no quota is checked. */
static int begin_with(const struct task_invocation *invocation, const json_t *definition,
                      struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    CLEANUP(start_rows_done) struct start_rows rows = START_ROWS_INIT;
    const struct task_work work = {&child, &rows.events, &rows.write};

    if (make_child(invocation, definition, &child, err) < 0 ||
        database_retry(invocation->agent, try_place, &child, err) < 0 ||
        agent_start_plan(invocation->agent->context->catalogue, &child,
                         json_text_or(invocation->args, "prompt", ""), &rows, err) < 0)
        return -1;
    task_set_call(task_add(invocation->state, &child.id, json_text_or(definition, "name", "")),
                  call_id(invocation));
    return wait_for(invocation, &child.id, task_store_begin, &work, err);
}

static int refuse_kind(const struct task_invocation *invocation, const char *name,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words, "There is no sub-agent of the kind \"%s\". There are:\n", name);
    sub_agents_append_list(invocation->agent->context->catalogue, &invocation->agent->conversation,
                           &words);
    return task_result_refuse(invocation->agent, invocation->action, words.text, err);
}

static int begin_new(const struct task_invocation *invocation, struct error *err)
{
    const char *kind = json_text_or(invocation->args, "subagent_type", "");
    json_auto_t *definition = sub_agent_find(invocation->agent->context->catalogue,
                                             &invocation->agent->conversation, kind);
    struct error failure = ERROR_INIT;

    if (definition == NULL)
        return refuse_kind(invocation, kind, err);
    if (begin_with(invocation, definition, &failure) == 0)
        return 0;
    if (failure.code == ERROR_INVALID || failure.code == ERROR_TOO_LARGE)
        return task_result_refuse(invocation->agent, invocation->action, failure.message, err);
    *err = failure;
    return -1;
}

/* --- more work for an existing one --- */

static int give_more(const struct task_invocation *invocation, struct conversation *child,
                     struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change planned = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    const struct task_work work = {child, &events, &write};
    json_auto_t *content = json_array();

    json_push(content, text_content(json_text_or(invocation->args, "prompt", "")));
    if (conversation_plan_message(child,
                                  &(struct planned_message){invocation->agent->context->catalogue,
                                                            content, MESSAGE_AND_RUN},
                                  &events, &planned, err) < 0)
        return -1;
    conversation_write_change(&planned, &write);
    return wait_for(invocation, &child->id, task_store_go_on, &work, err);
}

/* Why the sub-agent cannot be given more work; NULL if it can. */
static const char *why_not(const struct task_invocation *invocation,
                           const struct conversation *child)
{
    if (!text_equal(child->parent_id.text, invocation->agent->conversation.id.text))
        return "That task belongs to another conversation.";
    if (child->is_wanted)
        return "The sub-agent of that task is still running.";
    return NULL;
}

static int go_on(const struct task_invocation *invocation, json_t *task, struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    const struct uuid id = task_conversation_id(task);
    struct error failure = ERROR_INIT;
    const char *problem = NULL;

    if (load_child(invocation->agent, &id, &child, &failure) < 0) {
        if (failure.code == ERROR_NOT_FOUND)
            return task_result_refuse(invocation->agent, invocation->action,
                                      "The conversation of that task was deleted.", err);
        *err = failure;
        return -1;
    }
    problem = why_not(invocation, &child);
    if (problem != NULL)
        return task_result_refuse(invocation->agent, invocation->action, problem, err);
    task_set_call(task, call_id(invocation));
    return give_more(invocation, &child, err);
}

static int begin(const struct task_invocation *invocation, struct error *err)
{
    const char *resumed = json_text_or(invocation->args, "resume", "");
    json_t *task = task_find(invocation->state, resumed);

    if (text_is_blank(json_text_or(invocation->args, "prompt", "")))
        return task_result_refuse(invocation->agent, invocation->action, "The prompt is empty.",
                                  err);
    if (text_is_blank(resumed))
        return begin_new(invocation, err);
    if (task == NULL)
        return task_result_refuse(invocation->agent, invocation->action,
                                  "There is no task with that id to resume.", err);
    return go_on(invocation, task, err);
}

/* --- one already begun --- */

/* The sub-agent was stopped together with this run, which now continues. */
static int run_again(const struct task_invocation *invocation, struct conversation *child,
                     struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change planned = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    const struct task_work work = {child, &events, &write};

    conversation_plan_run(invocation->agent->context->catalogue, child, &events, &planned);
    conversation_write_change(&planned, &write);
    return wait_for(invocation, &child->id, task_store_go_on, &work, err);
}

static int check_task(const struct task_invocation *invocation, const json_t *task,
                      struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    struct agent *agent = invocation->agent;
    const struct uuid id = task_conversation_id(task);
    bool was_waited_for = text_equal(agent->conversation.waits_for.text, id.text);
    bool is_stopped = false;
    struct error failure = ERROR_INIT;

    if (load_child(agent, &id, &child, &failure) < 0) {
        if (failure.code == ERROR_NOT_FOUND)
            return task_result_deleted(agent, invocation->action, task, err);
        *err = failure;
        return -1;
    }
    if (child.is_wanted)
        return wait_for(invocation, &id, wait_again, NULL, err);
    is_stopped = child.status == STATUS_PAUSED || child.status == STATUS_IDLE;
    if (is_stopped && run_control_stop(agent->control) == STOP_PAUSE)
        return error_set(err, ERROR_CANCELLED, "both are paused");
    if (is_stopped && !was_waited_for)
        return run_again(invocation, &child, err);
    return task_result_store(agent, invocation->action, task, &child, err);
}

int task_call_run(struct agent *agent, size_t action, struct error *err)
{
    json_auto_t *state = json_deep_copy(agent->conversation.agent_state);
    const struct task_invocation invocation = {
        .agent = agent,
        .action = action,
        .args = json_object_get(agent->history.items[action].json, "action"),
        .state = state,
    };
    const json_t *task = task_of_call(state, call_id(&invocation));

    return task != NULL ? check_task(&invocation, task, err) : begin(&invocation, err);
}
