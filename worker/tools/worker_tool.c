#include "worker/tools/worker_tool.h"

#include <stddef.h>

#include "base/text.h"
#include "model/conversation/conversation.h"

static const struct {
    const char *name;
    json_t *(*run)(const json_t *action, json_t *agent_state, bool *is_changed_out);
} worker_tools[] = {
    {"think", worker_tool_think},
    {"task_tracker", worker_tool_task_tracker},
};

json_t *worker_tool_run(const struct catalogue *catalogue, const struct conversation *conversation,
                        const char *name, const json_t *action, bool *is_changed_out)
{
    *is_changed_out = false;
    if (text_equal(name, "invoke_skill"))
        return worker_tool_invoke_skill(catalogue, conversation, action);
    for (size_t i = 0; i < ARRAY_SIZE(worker_tools); i++) {
        if (text_equal(worker_tools[i].name, name))
            return worker_tools[i].run(action, conversation->agent_state, is_changed_out);
    }
    return NULL;
}
