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
#define ALLOWANCE "allowance"

/* The list of that name in the state, which is created if there is none. */
static json_t *list_in(json_t *agent_state, const char *name)
{
    if (!json_is_array(json_object_get(agent_state, name)))
        json_put(agent_state, name, json_array());
    return json_object_get(agent_state, name);
}

static json_t *add(json_t *list, const char *id, const struct uuid *conversation_id,
                   const char *subagent)
{
    json_t *task = json_object();

    json_put_text(task, ID, id);
    json_put_text(task, CONVERSATION, conversation_id->text);
    json_put_text(task, SUBAGENT, subagent);
    json_push(list, task);
    return task;
}

json_t *task_add(json_t *agent_state, const struct uuid *conversation_id, const char *subagent)
{
    CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;
    json_t *tasks = list_in(agent_state, AGENT_STATE_TASKS);

    strbuf_appendf(&id, "task_%08zx", json_array_size(tasks) + 1);
    return add(tasks, id.text, conversation_id, subagent);
}

void delegate_add(json_t *agent_state, const char *name, const struct uuid *conversation_id,
                  const char *subagent)
{
    (void)add(list_in(agent_state, AGENT_STATE_DELEGATES), name, conversation_id, subagent);
}

void task_set_allowance(json_t *task, double allowance)
{
    json_put(task, ALLOWANCE, json_real(allowance));
}

void task_set_call(json_t *task, const struct uuid *action_id)
{
    json_put_text(task, CALL, action_id->text);
}

static json_t *find(const json_t *list, const char *member, const char *value)
{
    json_t *task = NULL;
    size_t i = 0;

    json_array_foreach (list, i, task) {
        if (text_equal(json_text_or(task, member, ""), value))
            return task;
    }
    return NULL;
}

json_t *task_find(const json_t *agent_state, const char *task_id)
{
    return find(json_object_get(agent_state, AGENT_STATE_TASKS), ID, task_id);
}

json_t *task_of_call(const json_t *agent_state, const struct uuid *action_id)
{
    return find(json_object_get(agent_state, AGENT_STATE_TASKS), CALL, action_id->text);
}

json_t *delegate_find(const json_t *agent_state, const char *name)
{
    return find(json_object_get(agent_state, AGENT_STATE_DELEGATES), ID, name);
}

size_t delegate_count(const json_t *agent_state)
{
    return json_array_size(json_object_get(agent_state, AGENT_STATE_DELEGATES));
}

const char *task_call(const json_t *task)
{
    return json_text_or(task, CALL, "");
}

const char *task_id(const json_t *task)
{
    return json_text_or(task, ID, "");
}

const char *task_subagent(const json_t *task)
{
    return json_text_or(task, SUBAGENT, "");
}

double task_allowance(const json_t *task)
{
    return json_number_or(task, ALLOWANCE, 0);
}

struct uuid task_conversation_id(const json_t *task)
{
    struct uuid id = UUID_INIT;

    return uuid_parse(json_text_or(task, CONVERSATION, ""), &id) ? id : (struct uuid)UUID_INIT;
}
