#include "worker/agent/core/database_retry.h"

#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/run_control.h"

enum { DELAY_FIRST_MS = 50, DELAY_MAX_MS = 1000 };

int database_retry(struct agent *agent, database_call *attempt, void *call, struct error *err)
{
    int64_t delay_ms = DELAY_FIRST_MS;

    for (;;) {
        struct error failure = ERROR_INIT;

        if (attempt(agent, call, &failure) == 0)
            return 0;
        if (!error_is_transient(&failure)) {
            *err = failure;
            return -1;
        }
        log_warning("database.retried", LOG_ERROR(&failure));
        if (run_control_sleep(agent->control, delay_ms, err) < 0)
            return -1;
        delay_ms = 2 * delay_ms < DELAY_MAX_MS ? 2 * delay_ms : DELAY_MAX_MS;
    }
}
