/* The result of a job that was refused or has failed, for the client that waits for it. */
#ifndef DEFT_WORKER_JOBS_JOB_REFUSAL_H
#define DEFT_WORKER_JOBS_JOB_REFUSAL_H

#include <jansson.h>

#include "base/attr.h"

/* {"error": message}. A new reference. */
json_t *job_refusal(const char *message) NONNULL MUST_CHECK;

#endif
