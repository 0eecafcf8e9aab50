#include "worker/tools/worker_tool.h"

#include "base/text.h"
#include "model/tools/tools.h"

json_t *worker_tool_run(const struct tool *tool, const json_t *action, json_t *agent_state,
                        bool *is_changed_out)
{
    *is_changed_out = false;
    if (text_equal(tool->name, "think"))
        return worker_tool_think(action);
    if (text_equal(tool->name, "finish"))
        return worker_tool_finish(action);
    if (text_equal(tool->name, "task_tracker"))
        return worker_tool_task_tracker(action, agent_state, is_changed_out);
    return NULL;
}
