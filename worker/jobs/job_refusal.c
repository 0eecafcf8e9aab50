#include "worker/jobs/job_refusal.h"

#include "base/json.h"

json_t *job_refusal(const char *message)
{
    json_t *result = json_object();

    json_put_text(result, "error", message);
    return result;
}
