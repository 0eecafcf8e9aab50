/* The tool think (see tools.h). */
#include "worker/agent/sandbox/observation.h"
#include "worker/tools/worker_tool.h"

json_t *worker_tool_think(const json_t *action)
{
    (void)action;
    return observation_from_text("ThinkObservation", "Your thought has been logged.");
}
