/*
 * The security analyzer of a conversation, as a client described it.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_AGENT_ANALYZER_SPEC_H
#define DEFT_MODEL_AGENT_ANALYZER_SPEC_H

#include <jansson.h>

#include "base/attr.h"

struct json_path;

/* Reads a security analyzer, or null. A new reference; errors go to problems. */
json_t *analyzer_read(json_t *input, const struct json_path *path,
                      json_t *problems) NONNULL MUST_CHECK;

#endif
