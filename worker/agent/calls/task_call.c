#include "worker/agent/calls/task_call.h"

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/task.h"
#include "model/tools/agent_tool.h"
#include "model/tools/sub_agents.h"
#include "model/tools/toolset.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/sub_agent_budget.h"
#include "worker/agent/calls/sub_agent_work.h"
#include "worker/agent/calls/task_result.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/run_control.h"
#include "worker/context.h"

/* A call and its resolved parameters. */
struct task_invocation {
    struct agent *agent;
    size_t action;
    const json_t *args;
    json_t *state; /* the future agent_state; takes effect when stored */
    struct sub_agent_waits *waits;
};

static const struct uuid *call_id(const struct task_invocation *invocation)
{
    return &invocation->agent->history.items[invocation->action].id;
}

static int refuse(const struct task_invocation *invocation, const char *words, struct error *err)
{
    return task_result_refuse(invocation->agent, invocation->action, words, err);
}

static void wait_for(const struct task_invocation *invocation, const struct uuid *child_id)
{
    const struct sub_agent_waits one = {.ids = {*child_id}, .n = 1};

    sub_agent_waits_add(invocation->waits, &one);
}

/* --- a new sub-agent --- */

static bool is_task(const struct agent *agent, size_t action)
{
    const struct agent_tool *tool =
        toolset_find(agent->tools, json_text_or(stored_event_json(&agent->history.items[action]),
                                                "tool_name", ""));

    return tool != NULL && tool->place == TOOL_IN_SUB_AGENT;
}

/* Counts the open calls whose sub-agents run, with their budgets, and those that have none yet. */
static void count_open(const struct agent *agent, struct sub_agent_shares *shares)
{
    CLEANUP(index_list_done) struct index_list pending = INDEX_LIST_INIT;

    history_find_pending(&agent->history, &pending);
    for (size_t i = 0; i < pending.n; i++) {
        const json_t *task = NULL;

        if (!is_task(agent, pending.items[i]))
            continue;
        task = task_of_call(agent->conversation.agent_state,
                            &agent->history.items[pending.items[i]].id);
        shares->n_running += task != NULL;
        shares->n_waiting += task == NULL;
        shares->reserved += task != NULL ? task_allowance(task) : 0;
    }
}

static int begin_with(const struct task_invocation *invocation, const json_t *definition,
                      struct error *err)
{
    struct agent *agent = invocation->agent;
    struct sub_agent_shares shares = {.limit = conversation_tool_concurrency(&agent->conversation)};
    const char *prompt = json_text_or(invocation->args, "prompt", "");
    struct sub_agent_plan plan = {.definition = definition,
                                  .title = json_text_or(invocation->args, "description", prompt)};
    const struct sub_agent_work work = {
        .agent = agent,
        .state = invocation->state,
        .child_id = child_conversation_id(&agent->conversation.id, call_id(invocation)),
        .prompt = prompt};
    json_t *task =
        task_add(invocation->state, &work.child_id, json_text_or(definition, "name", ""));

    count_open(agent, &shares);
    plan.allowance = sub_agent_allowance(agent, &shares);
    task_set_call(task, call_id(invocation));
    if (plan.allowance >= 0)
        task_set_allowance(task, plan.allowance);
    if (sub_agent_work_begin(&work, &plan, err) < 0)
        return -1;
    wait_for(invocation, &work.child_id);
    return 0;
}

static int refuse_kind(const struct task_invocation *invocation, const char *name,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    strbuf_appendf(&words, "There is no sub-agent of the kind \"%s\". There are:\n", name);
    sub_agents_append_list(invocation->agent->context->catalogue, &invocation->agent->conversation,
                           &words);
    return refuse(invocation, words.text, err);
}

/* A refusal is news for the model. */
static int settle(const struct task_invocation *invocation, const struct error *failure,
                  struct error *err)
{
    if (failure->code == ERROR_INVALID || failure->code == ERROR_TOO_LARGE)
        return refuse(invocation, failure->message, err);
    *err = *failure;
    return -1;
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
    return settle(invocation, &failure, err);
}

/* --- more work for an existing one --- */

static int go_on(const struct task_invocation *invocation, json_t *task, struct error *err)
{
    const struct sub_agent_work work = {.agent = invocation->agent,
                                        .state = invocation->state,
                                        .child_id = task_conversation_id(task),
                                        .prompt = json_text_or(invocation->args, "prompt", "")};
    struct error failure = ERROR_INIT;

    task_set_call(task, call_id(invocation));
    if (sub_agent_work_go_on(&work, &failure) < 0)
        return settle(invocation, &failure, err);
    wait_for(invocation, &work.child_id);
    return 0;
}

static int begin(const struct task_invocation *invocation, struct error *err)
{
    const char *resumed = json_text_or(invocation->args, "resume", "");
    json_t *task = task_find(invocation->state, resumed);

    if (text_is_blank(json_text_or(invocation->args, "prompt", "")))
        return refuse(invocation, "The prompt is empty.", err);
    if (run_control_stop(invocation->agent->control) == STOP_PAUSE) {
        invocation->waits->is_paused = true;
        return 0;
    }
    if (text_is_blank(resumed))
        return begin_new(invocation, err);
    if (task == NULL)
        return refuse(invocation, "There is no task with that id to resume.", err);
    return go_on(invocation, task, err);
}

/* --- one already begun --- */

static int check_task(const struct task_invocation *invocation, const json_t *task,
                      struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    const struct sub_agent_work work = {.agent = invocation->agent,
                                        .child_id = task_conversation_id(task)};
    enum sub_agent_progress progress = SUB_AGENT_RUNS;

    if (sub_agent_work_check(&work, &child, &progress, err) < 0)
        return -1;
    switch (progress) {
    case SUB_AGENT_RUNS:
        wait_for(invocation, &work.child_id);
        return 0;
    case SUB_AGENT_PAUSED:
        invocation->waits->is_paused = true;
        return 0;
    case SUB_AGENT_ENDED:
        return task_result_store(invocation->agent, invocation->action, task, &child, err);
    case SUB_AGENT_DELETED:
        break;
    }
    return task_result_store(invocation->agent, invocation->action, task, NULL, err);
}

int task_call_run(struct agent *agent, size_t action, struct sub_agent_waits *waits,
                  struct error *err)
{
    json_auto_t *state = json_deep_copy(agent->conversation.agent_state);
    const struct task_invocation invocation = {
        .agent = agent,
        .action = action,
        .args = json_object_get(stored_event_json(&agent->history.items[action]), "action"),
        .state = state,
        .waits = waits,
    };
    const json_t *task = task_of_call(state, call_id(&invocation));

    return task != NULL ? check_task(&invocation, task, err) : begin(&invocation, err);
}
