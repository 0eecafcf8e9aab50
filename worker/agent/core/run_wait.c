#include "worker/agent/core/run_wait.h"

#include "base/error.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"

int run_wait_refused(struct agent *agent, const char *stop, struct error *err)
{
    if (err->code == ERROR_STALE) {
        if (event_writer_check_lease(agent, err) < 0)
            return -1;
        return error_set(err, ERROR_CONFLICT,
                         "the lease had expired, or the sub-agent was deleted");
    }
    if (err->code == ERROR_CANCELLED)
        run_control_request_word(agent->control, stop);
    return -1;
}
