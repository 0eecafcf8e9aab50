#include "model/event/status.h"

#include "base/text.h"

#define X(constant, text) [constant] = (text),
static const char *const names[STATUS_N] = {EXECUTION_STATUSES(X)};
#undef X

static const bool may_become[STATUS_N][STATUS_N] = {
    [STATUS_IDLE] = {[STATUS_RUNNING] = true, [STATUS_PAUSED] = true},
    [STATUS_RUNNING] = {[STATUS_IDLE] = true,
                        [STATUS_PAUSED] = true,
                        [STATUS_WAITING_FOR_CONFIRMATION] = true,
                        [STATUS_FINISHED] = true,
                        [STATUS_ERROR] = true,
                        [STATUS_STUCK] = true},
    [STATUS_PAUSED] = {[STATUS_RUNNING] = true},
    [STATUS_WAITING_FOR_CONFIRMATION] =
        {[STATUS_RUNNING] = true, [STATUS_IDLE] = true, [STATUS_PAUSED] = true},
    [STATUS_FINISHED] = {[STATUS_IDLE] = true},
    [STATUS_ERROR] = {[STATUS_RUNNING] = true},
    [STATUS_STUCK] = {[STATUS_IDLE] = true, [STATUS_RUNNING] = true},
};

const char *status_to_string(enum execution_status status)
{
    return (unsigned)status < STATUS_N ? names[status] : "error";
}

bool status_from_string(const char *text, enum execution_status *status_out)
{
    for (unsigned i = 0; i < STATUS_N; i++) {
        if (text_equal(names[i], text)) {
            *status_out = (enum execution_status)i;
            return true;
        }
    }
    return false;
}

bool status_may_become(enum execution_status from, enum execution_status to)
{
    return (unsigned)from < STATUS_N && (unsigned)to < STATUS_N && may_become[from][to];
}

enum execution_status status_on_run(enum execution_status status)
{
    return status == STATUS_FINISHED ? STATUS_FINISHED : STATUS_RUNNING;
}
