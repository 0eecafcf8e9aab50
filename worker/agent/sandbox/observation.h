/*
 * What a sandbox says a tool has shown. It comes from a machine that the agent controls, so nothing
 * of it is believed: only known members of the right type pass, within limits.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_OBSERVATION_H
#define DEFT_WORKER_AGENT_SANDBOX_OBSERVATION_H

#include <jansson.h>

#include "base/attr.h"

struct error;

/*
 * Builds a clean observation of that kind from a reply's. A new reference in *observation_out.
 * ERROR_INVALID when it is no observation of that kind, ERROR_TOO_LARGE when even without the
 * contents of an edited file it is more than an event may hold.
 */
int observation_from_sandbox(json_t *reply, const char *kind, json_t **observation_out,
                             struct error *err) __attribute__((nonnull(2, 3, 4))) MUST_CHECK;
/* {"content":[text],"is_error":…,"kind":…}: an observation of a tool that has nothing else to say.
 */
json_t *observation_from_text(const char *kind, const char *text) NONNULL MUST_CHECK;

#endif
