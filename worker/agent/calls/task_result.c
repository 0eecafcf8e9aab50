#include "worker/agent/calls/task_result.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "model/conversation/task.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/event_store.h"
#include "worker/agent/calls/sub_agent_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/sandbox/observation.h"

#define STATUS_TEXT_COMPLETED "completed"
#define STATUS_TEXT_ERROR "error"
/* Id for a task that was not started. */
#define NO_TASK "unknown"

/* Members of a call's observation. */
struct task_outcome {
    const char *task_id;
    struct uuid conversation_id; /* the sub-agent's; unset if there is none */
    const char *subagent;
    const char *status;
    const char *text;
};

static json_t *result_to_json(const struct task_outcome *result)
{
    json_t *json = observation_from_text("TaskObservation", result->text);

    json_put(json, "is_error", json_boolean(text_equal(result->status, STATUS_TEXT_ERROR)));
    json_put_text(json, "task_id", result->task_id);
    json_put_text(json, "subagent", result->subagent);
    json_put_text(json, "status", result->status);
    return json;
}

static int store(struct agent *agent, size_t action, const struct task_outcome *outcome,
                 struct event_list *events, struct error *err)
{
    json_auto_t *observation = result_to_json(outcome);
    const struct sub_agent_result result = {.observation = observation,
                                            .ended = &outcome->conversation_id,
                                            .n_ended =
                                                uuid_is_set(&outcome->conversation_id) ? 1 : 0};

    return sub_agent_end_store(agent, action, &result, events, err);
}

static void add_cost(struct agent *agent, const json_t *task, const struct conversation *child,
                     struct event_list *events)
{
    CLEANUP(strbuf_done) struct strbuf usage_id = STRBUF_INIT;
    json_auto_t *snapshot = NULL;

    if (child == NULL)
        return;
    strbuf_appendf(&usage_id, "task:%s", task_id(task));
    sub_agent_end_set_cost(agent, usage_id.text, child);
    snapshot = stats_snapshot(agent->stats);
    event_add_state(events, "stats", snapshot);
}

int task_result_store(struct agent *agent, size_t action, const json_t *task,
                      const struct conversation *child, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    bool is_completed = child != NULL && child->status == STATUS_FINISHED;
    struct task_outcome result = {
        .task_id = task_id(task),
        .conversation_id = task_conversation_id(task),
        .subagent = task_subagent(task),
        .status = is_completed ? STATUS_TEXT_COMPLETED : STATUS_TEXT_ERROR,
    };

    if (sub_agent_end_append(agent, child, SUB_AGENT_WORDS_MAX_CHARS, &text, err) < 0)
        return -1;
    result.text = text.text;
    add_cost(agent, task, child, &events);
    return store(agent, action, &result, &events, err);
}

int task_result_refuse(struct agent *agent, size_t action, const char *words, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const json_t *args =
        json_object_get(stored_event_json(&agent->history.items[action]), "action");
    const char *resumed = json_text_or(args, "resume", "");
    const struct task_outcome result = {
        .task_id = text_is_blank(resumed) ? NO_TASK : resumed,
        .subagent = json_text_or(args, "subagent_type", ""),
        .status = STATUS_TEXT_ERROR,
        .text = words,
    };

    return store(agent, action, &result, &events, err);
}
