#include "model/event/status.h"

#include "base/text.h"

#define X(constant, text) [constant] = (text),
static const char *const names[STATUS_N] = {EXECUTION_STATUSES(X)};
#undef X

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

enum execution_status status_on_run(enum execution_status status)
{
    return status == STATUS_FINISHED ? STATUS_FINISHED : STATUS_RUNNING;
}
