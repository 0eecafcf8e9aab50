/* The tool think (see tools.h). */
#include "worker/agent/sandbox/observation.h"
#include "worker/tools/worker_tool.h"

json_t *worker_tool_think(const json_t *action, json_t *agent_state, bool *is_changed_out)
{
    (void)action;
    (void)agent_state;
    *is_changed_out = false;
    return observation_from_text("ThinkObservation", "Your thought has been logged.");
}
