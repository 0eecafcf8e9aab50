/*
 * Appends the text of an observation for the model (terminal: output, directory, exit code …).
 */
#ifndef DEFT_MODEL_EVENT_OBSERVATION_TEXT_H
#define DEFT_MODEL_EVENT_OBSERVATION_TEXT_H

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* out: gets the text appended. */
void observation_append_text(json_t *observation, struct strbuf *out) NONNULL;

#endif
