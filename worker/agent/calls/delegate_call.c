#include "worker/agent/calls/delegate_call.h"

#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/task.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "model/tools/sub_agents.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/sub_agent_budget.h"
#include "worker/agent/calls/sub_agent_end.h"
#include "worker/agent/calls/sub_agent_work.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/context.h"

#define DEFAULT_KIND "general-purpose"

enum { DELEGATES_MAX = 5, NAME_MAX_CHARS = 64 };

struct delegate_call {
    struct agent *agent;
    size_t action;
    const json_t *args;
    struct sub_agent_waits *waits;
};

static const struct uuid *call_id(const struct delegate_call *call)
{
    return &call->agent->history.items[call->action].id;
}

static json_t *observation_of(const struct delegate_call *call, const char *words, bool is_error)
{
    json_t *json = observation_from_text("DelegateObservation", words);

    json_put(json, "is_error", json_boolean(is_error));
    json_put_text(json, "command", json_text_or(call->args, "command", ""));
    return json;
}

/* Nothing was done; words: the reason, for the model. */
static int refuse(const struct delegate_call *call, const char *words, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *observation = observation_of(call, words, true);
    const struct sub_agent_result result = {.observation = observation};

    return sub_agent_end_store(call->agent, call->action, &result, &events, err);
}

/* --- spawn --- */

/* The kind of the delegate at that index of ids. */
static const char *kind_at(const struct delegate_call *call, size_t i)
{
    const json_t *kind = json_array_get(json_object_get(call->args, "agent_types"), i);
    const char *text = json_is_string(kind) ? json_string_value(kind) : "";

    return text_is_blank(text) ? DEFAULT_KIND : text;
}

/* Appends why there cannot be a delegate of that name and kind; nothing if there can. */
static void check_delegate(const struct delegate_call *call, const json_t *state, const char *name,
                           const char *kind, struct strbuf *problem)
{
    const struct catalogue *catalogue = call->agent->context->catalogue;
    const struct conversation *conversation = &call->agent->conversation;
    json_auto_t *definition = sub_agent_find(catalogue, conversation, kind);

    if (text_is_blank(name) || utf8_length(name, strlen(name)) > NAME_MAX_CHARS) {
        strbuf_appendf(problem, "Each id must have 1 to %d characters.", NAME_MAX_CHARS);
    } else if (delegate_find(state, name) != NULL) {
        strbuf_appendf(problem, "There is a sub-agent with the id \"%s\" already.", name);
    } else if (delegate_count(state) >= DELEGATES_MAX) {
        strbuf_appendf(problem, "A conversation has at most %d of these sub-agents.",
                       DELEGATES_MAX);
    } else if (definition == NULL) {
        strbuf_appendf(problem, "There is no sub-agent of the kind \"%s\". There are:\n", kind);
        sub_agents_append_list(catalogue, conversation, problem);
    }
}

static void add_delegate(const struct delegate_call *call, json_t *state, const char *name,
                         const char *kind)
{
    const struct uuid id = child_delegate_id(&call->agent->conversation.id, call_id(call), name);

    delegate_add(state, name, &id, kind);
}

static int spawn(const struct delegate_call *call, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf problem = STRBUF_INIT;
    json_auto_t *state = json_deep_copy(call->agent->conversation.agent_state);
    json_auto_t *observation = NULL;
    struct sub_agent_result result = {.state = state};
    const json_t *id = NULL;
    size_t i = 0;

    if (json_array_size(json_object_get(call->args, "ids")) == 0)
        return refuse(call, "spawn needs ids: the names of the new sub-agents.", err);
    strbuf_append(&words, "These sub-agents are ready for work:");
    json_array_foreach (json_object_get(call->args, "ids"), i, id) {
        check_delegate(call, state, json_string_value(id), kind_at(call, i), &problem);
        if (problem.len > 0)
            return refuse(call, problem.text, err);
        add_delegate(call, state, json_string_value(id), kind_at(call, i));
        strbuf_appendf(&words, "\n- %s (%s)", json_string_value(id), kind_at(call, i));
    }
    observation = observation_of(call, words.text, false);
    result.observation = observation;
    return sub_agent_end_store(call->agent, call->action, &result, &events, err);
}

/* --- delegate: giving work --- */

/* One task of the call, and its delegate in the conversation's state. */
struct delegated {
    const struct delegate_call *call;
    const json_t *delegate;
    const char *task;
    struct strbuf *answer; /* for the model, where it has ended */
    bool *is_failed;
};

static bool has_work(const struct delegate_call *call, const json_t *delegate)
{
    return text_equal(task_call(delegate), call_id(call)->text);
}

/* What the budget leaves for one more of the call's sub-agents, all of which run at once. */
static double allowance_of(const struct delegate_call *call)
{
    struct sub_agent_shares shares = {.limit = DELEGATES_MAX};
    json_t *tasks = json_object_get(call->args, "tasks");
    json_t *task = NULL;
    const char *name = NULL;

    json_object_foreach (tasks, name, task) {
        const json_t *delegate = delegate_find(call->agent->conversation.agent_state, name);

        if (!has_work(call, delegate)) {
            shares.n_waiting++;
            continue;
        }
        shares.n_running++;
        shares.reserved += task_allowance(delegate);
    }
    return sub_agent_allowance(call->agent, &shares);
}

static int begin_new(const struct delegate_call *call, const struct sub_agent_work *work,
                     json_t *delegate, struct error *err)
{
    json_auto_t *definition = sub_agent_find(call->agent->context->catalogue,
                                             &call->agent->conversation, task_subagent(delegate));
    const struct sub_agent_plan plan = {
        .definition = definition, .title = task_id(delegate), .allowance = allowance_of(call)};

    if (definition == NULL)
        return error_set(err, ERROR_INVALID, "There is no longer a sub-agent of the kind \"%s\".",
                         task_subagent(delegate));
    task_set_call(delegate, call_id(call));
    if (plan.allowance >= 0)
        task_set_allowance(delegate, plan.allowance);
    return sub_agent_work_begin(work, &plan, err);
}

/* Its conversation is made with its first work. */
static int give(const struct delegated *one, struct error *err)
{
    const struct delegate_call *call = one->call;
    json_auto_t *state = json_deep_copy(call->agent->conversation.agent_state);
    json_t *delegate = delegate_find(state, task_id(one->delegate));
    const struct sub_agent_work work = {.agent = call->agent,
                                        .state = state,
                                        .child_id = task_conversation_id(delegate),
                                        .prompt = one->task};

    if (task_call(delegate)[0] == '\0')
        return begin_new(call, &work, delegate, err);
    task_set_call(delegate, call_id(call));
    return sub_agent_work_go_on(&work, err);
}

static void wait_for(const struct delegated *one)
{
    const struct sub_agent_waits wait = {.ids = {task_conversation_id(one->delegate)}, .n = 1};

    sub_agent_waits_add(one->call->waits, &wait);
}

static int begin(const struct delegated *one, struct error *err)
{
    const struct uuid id = task_conversation_id(one->delegate);
    const struct sub_agent_waits wait = {.ids = {id}, .n = 1};
    struct error failure = ERROR_INIT;

    if (run_control_stop(one->call->agent->control) == STOP_PAUSE) {
        one->call->waits->is_paused = true;
        return 0;
    }
    /* The delegate is one of the state that giving the work replaces. */
    if (give(one, &failure) == 0) {
        sub_agent_waits_add(one->call->waits, &wait);
        return 0;
    }
    if (failure.code != ERROR_INVALID && failure.code != ERROR_TOO_LARGE) {
        *err = failure;
        return -1;
    }
    strbuf_append(one->answer, failure.message);
    *one->is_failed = true;
    return 0;
}

/* --- delegate: taking the answers --- */

static int take_answer(const struct delegated *one, const struct conversation *child,
                       struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf usage_id = STRBUF_INIT;
    struct agent *agent = one->call->agent;

    *one->is_failed = child == NULL || child->status != STATUS_FINISHED;
    strbuf_appendf(&usage_id, "delegate:%s", task_id(one->delegate));
    if (child != NULL)
        sub_agent_end_set_cost(agent, usage_id.text, child);
    return sub_agent_end_append(agent, child, SUB_AGENT_WORDS_MAX_CHARS / DELEGATES_MAX,
                                one->answer, err);
}

static int check(const struct delegated *one, struct error *err)
{
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    const struct sub_agent_work work = {.agent = one->call->agent,
                                        .child_id = task_conversation_id(one->delegate)};
    enum sub_agent_progress progress = SUB_AGENT_RUNS;

    if (sub_agent_work_check(&work, &child, &progress, err) < 0)
        return -1;
    switch (progress) {
    case SUB_AGENT_RUNS:
        wait_for(one);
        return 0;
    case SUB_AGENT_PAUSED:
        one->call->waits->is_paused = true;
        return 0;
    case SUB_AGENT_ENDED:
        return take_answer(one, &child, err);
    case SUB_AGENT_DELETED:
        break;
    }
    return take_answer(one, NULL, err);
}

/* The answers of a call's sub-agents so far. */
struct answers {
    struct strbuf text;
    struct uuid ended[DELEGATES_MAX];
    size_t n_ended;
    bool is_any_failed;
};

static void answers_done(struct answers *answers)
{
    strbuf_done(&answers->text);
}

/* One step of a task: begins it, or adds its answer if it has one. */
static int advance(const struct delegate_call *call, const char *name, const json_t *task,
                   struct answers *answers, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
    bool is_failed = false;
    const struct delegated one = {.call = call,
                                  .delegate =
                                      delegate_find(call->agent->conversation.agent_state, name),
                                  .task = json_string_value(task),
                                  .answer = &answer,
                                  .is_failed = &is_failed};
    const struct uuid id = task_conversation_id(one.delegate);
    int rc = has_work(call, one.delegate) ? check(&one, err) : begin(&one, err);

    if (rc < 0 || answer.len == 0)
        return rc;
    answers->ended[answers->n_ended++] = id;
    answers->is_any_failed = answers->is_any_failed || is_failed;
    strbuf_appendf(&answers->text, "%s[Sub-agent: %s, status: %s]\n%s",
                   answers->text.len > 0 ? "\n\n" : "", name, is_failed ? "error" : "completed",
                   answer.text);
    return 0;
}

static int store_answers(const struct delegate_call *call, const struct answers *answers,
                         struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *observation = observation_of(call, answers->text.text, answers->is_any_failed);
    json_auto_t *snapshot = stats_snapshot(call->agent->stats);
    const struct sub_agent_result result = {
        .observation = observation, .ended = answers->ended, .n_ended = answers->n_ended};

    event_add_state(&events, "stats", snapshot);
    return sub_agent_end_store(call->agent, call->action, &result, &events, err);
}

/* Appends what is wrong with the call's tasks; nothing if they can be given. */
static void check_tasks(const struct delegate_call *call, struct strbuf *problem)
{
    json_t *tasks = json_object_get(call->args, "tasks");
    json_t *task = NULL;
    const char *name = NULL;

    if (json_object_size(tasks) == 0)
        strbuf_append(problem, "delegate needs tasks: an object of tasks by the sub-agents' ids.");
    json_object_foreach (tasks, name, task) {
        if (problem->len > 0)
            return;
        if (delegate_find(call->agent->conversation.agent_state, name) == NULL)
            strbuf_appendf(problem, "There is no sub-agent with the id \"%s\": spawn it first.",
                           name);
        else if (text_is_blank(json_string_value(task)))
            strbuf_appendf(problem, "The task for \"%s\" is empty.", name);
        else if (utf8_length(json_string_value(task), json_string_length(task)) >
                 CHILD_TASK_MAX_CHARS)
            strbuf_appendf(problem, "The task for \"%s\" has more than %d characters.", name,
                           CHILD_TASK_MAX_CHARS);
    }
}

static int delegate(const struct delegate_call *call, struct error *err)
{
    CLEANUP(answers_done) struct answers answers = {.text = STRBUF_INIT};
    CLEANUP(strbuf_done) struct strbuf problem = STRBUF_INIT;
    json_t *tasks = json_object_get(call->args, "tasks");
    json_t *task = NULL;
    const char *name = NULL;

    check_tasks(call, &problem);
    if (problem.len > 0)
        return refuse(call, problem.text, err);
    json_object_foreach (tasks, name, task) {
        if (advance(call, name, task, &answers, err) < 0)
            return -1;
    }
    if (call->waits->n > 0 || call->waits->is_paused)
        return 0;
    return store_answers(call, &answers, err);
}

int delegate_call_run(struct agent *agent, size_t action, struct sub_agent_waits *waits,
                      struct error *err)
{
    const struct delegate_call call = {
        .agent = agent,
        .action = action,
        .args = json_object_get(stored_event_json(&agent->history.items[action]), "action"),
        .waits = waits};

    return text_equal(json_text_or(call.args, "command", ""), "spawn") ? spawn(&call, err)
                                                                       : delegate(&call, err);
}
