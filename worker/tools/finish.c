/* The tool finish (see tools.h). */
#include "base/json.h"
#include "worker/agent/sandbox/observation.h"
#include "worker/tools/worker_tool.h"

json_t *worker_tool_finish(const json_t *action)
{
    return observation_from_text("FinishObservation", json_text_or(action, "message", ""));
}
