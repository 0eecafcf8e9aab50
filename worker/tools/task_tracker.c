/* The tool task_tracker: the agent's list of tasks (see tools.h). */
#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/tools/worker_tool.h"

static const struct {
    const char *status;
    const char *sign;
} signs[] = {
    {"todo", "⏳"},
    {"in_progress", "🔄"},
    {"done", "✅"},
};

static const char *sign_of(const char *status)
{
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        if (text_equal(signs[i].status, status))
            return signs[i].sign;
    }
    return signs[0].sign;
}

static void append_list(struct strbuf *out, const json_t *list)
{
    if (json_array_size(list) == 0) {
        strbuf_append(out, "There is no task list yet. Make one with the command \"plan\".");
        return;
    }
    strbuf_append(out, "# Task List\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *task = json_array_get(list, i);
        const char *notes = json_text_or(task, "notes", "");

        strbuf_appendf(out, "\n%zu. %s %s", i + 1, sign_of(json_text_or(task, "status", "")),
                       json_text_or(task, "title", ""));
        if (notes[0] != '\0')
            strbuf_appendf(out, "\n   %s", notes);
    }
}

/* A copy of the current list, because the event keeps it. */
static json_t *list_copy(const json_t *agent_state)
{
    const json_t *list = json_object_get(agent_state, AGENT_STATE_TASK_LIST);

    return json_is_array(list) ? json_deep_copy(list) : json_array();
}

json_t *worker_tool_task_tracker(const json_t *action, json_t *agent_state, bool *is_changed_out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *list = json_object_get(action, "task_list");
    const char *command = json_text_or(action, "command", "view");
    json_t *observation = NULL;

    *is_changed_out = text_equal(command, "plan");
    if (*is_changed_out) {
        json_put(agent_state, AGENT_STATE_TASK_LIST,
                 json_is_array(list) ? json_deep_copy(list) : json_array());
        strbuf_appendf(&text, "Task list has been updated with %zu item(s).",
                       json_array_size(list));
    } else {
        append_list(&text, json_object_get(agent_state, AGENT_STATE_TASK_LIST));
    }
    observation = observation_from_text("TaskTrackerObservation", text.text);
    json_put_text(observation, "command", command);
    json_put(observation, "task_list", list_copy(agent_state));
    return observation;
}
