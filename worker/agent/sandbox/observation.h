/*
 * Validates observations from a sandbox. The agent controls the sandbox, so its replies are
 * untrusted: only known members of the right type and within limits are taken.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_OBSERVATION_H
#define DEFT_WORKER_AGENT_SANDBOX_OBSERVATION_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * Builds a clean observation of that kind from a reply's; a new reference in *observation_out.
 * ERROR_INVALID if it is not an observation of that kind, ERROR_TOO_LARGE if even without the
 * contents of an edited file it exceeds an event's size.
 */
int observation_from_sandbox(json_t *reply, const char *kind, json_t **observation_out,
                             struct error *err) __attribute__((nonnull(2, 3, 4))) MUST_CHECK;
/* {"content":[text],"is_error":…,"kind":…}: an observation that consists of text only. */
json_t *observation_from_text(const char *kind, const char *text) NONNULL MUST_CHECK;

#endif
