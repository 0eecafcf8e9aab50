#include "worker/agent/sandbox/own_action.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/sandbox/sandbox.h"

/* True for what concerns the action alone; then the failure is its problem. */
static bool is_of_action(const struct error *failure)
{
    return failure->code == ERROR_CONFLICT || failure->code == ERROR_NOT_FOUND ||
           failure->code == ERROR_TIMEOUT || failure->code == ERROR_INVALID ||
           failure->code == ERROR_TOO_LARGE;
}

static int run_and_wait(struct agent *agent, const struct action_request *order,
                        struct action_result *result_out, struct error *err)
{
    struct sandbox_action *action = sandbox_begin_action(agent->sandbox, order);
    size_t index = 0;
    int rc = 0;

    if (sandbox_action_is_sent(action))
        rc = sandbox_wait_action(agent->sandbox, &action, 1, &index, err);
    if (rc == 0)
        rc = sandbox_end_action(action, result_out, err);
    sandbox_action_free(action);
    return rc;
}

int own_action_run(struct agent *agent, struct action_request *order, json_t **observation_out,
                   struct strbuf *problem, struct error *err)
{
    CLEANUP(action_result_done) struct action_result result = ACTION_RESULT_INIT;
    struct error failure = ERROR_INIT;

    if (sandbox_ready(agent->sandbox, err) < 0)
        return -1;
    memcpy(order->runtime_id, sandbox_runtime_id(agent->sandbox), sizeof(order->runtime_id));
    if (run_control_wait_for_lease(agent->control, err) < 0)
        return -1;
    sandbox_make_working_dir(agent->sandbox);
    if (run_and_wait(agent, order, &result, &failure) == 0) {
        *observation_out = TAKE_PTR(result.observation);
        if (*observation_out == NULL)
            strbuf_appendf(problem, "It was interrupted: %s", result.reason);
        return 0;
    }
    if (!is_of_action(&failure)) {
        *err = failure;
        return -1;
    }
    /* The sandbox may know a newer holder of the conversation. */
    if (failure.code == ERROR_CONFLICT && event_writer_check_lease(agent, err) < 0)
        return -1;
    strbuf_append(problem, failure.message);
    return 0;
}
