#include "model/conversation/task.h"

#include <stddef.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"

#define ID "task_id"
#define CONVERSATION "conversation_id"
#define SUBAGENT "subagent"
#define CALL "action_id"

static json_t *tasks_of(const json_t *agent_state)
{
    return json_object_get(agent_state, AGENT_STATE_TASKS);
}

json_t *task_add(json_t *agent_state, const struct uuid *conversation_id, const char *subagent)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    json_t *task = json_object();

    if (!json_is_array(tasks_of(agent_state)))
        json_put(agent_state, AGENT_STATE_TASKS, json_array());
    strbuf_appendf(&id, "task_%08zx", json_array_size(tasks_of(agent_state)) + 1);
    json_put_text(task, ID, id.text);
    json_put_text(task, CONVERSATION, conversation_id->text);
    json_put_text(task, SUBAGENT, subagent);
    json_push(tasks_of(agent_state), task);
    return task;
}

void task_set_call(json_t *task, const struct uuid *action_id)
{
    json_put_text(task, CALL, action_id->text);
}

static json_t *find(const json_t *agent_state, const char *member, const char *value)
{
    json_t *task = NULL;
    size_t i = 0;

    json_array_foreach (tasks_of(agent_state), i, task) {
        if (text_equal(json_text_or(task, member, ""), value))
            return task;
    }
    return NULL;
}

json_t *task_find(const json_t *agent_state, const char *task_id)
{
    return find(agent_state, ID, task_id);
}

json_t *task_of_call(const json_t *agent_state, const struct uuid *action_id)
{
    return find(agent_state, CALL, action_id->text);
}

const char *task_id(const json_t *task)
{
    return json_text_or(task, ID, "");
}

const char *task_subagent(const json_t *task)
{
    return json_text_or(task, SUBAGENT, "");
}

struct uuid task_conversation_id(const json_t *task)
{
    struct uuid id = UUID_INIT;

    return uuid_parse(json_text_or(task, CONVERSATION, ""), &id) ? id : (struct uuid)UUID_INIT;
}
