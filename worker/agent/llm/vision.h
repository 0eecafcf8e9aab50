/*
 * Images for a model that cannot see them: the run ends with a message that says so.
 *
 * Threading: the agent's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_VISION_H
#define DEFT_WORKER_AGENT_LLM_VISION_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct history;

/* True if the user's last words, which may be several messages, have an image. */
bool vision_is_asked(const struct history *history) NONNULL MUST_CHECK;
/*
 * Ends the run as finished, with a message of the agent, if it asks for vision and the model of
 * that LLM object has none. *ended_out says whether it did. Errors: as event_writer_append().
 */
int vision_end_run(struct agent *agent, const json_t *spec, bool *ended_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif
