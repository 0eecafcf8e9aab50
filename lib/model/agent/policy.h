/*
 * Small objects of a conversation that clients set: confirmation policy, tags.
 */
#ifndef DEFT_MODEL_AGENT_POLICY_H
#define DEFT_MODEL_AGENT_POLICY_H

#include <jansson.h>

#include "base/attr.h"

struct json_path;

/* Reads a ConfirmationPolicy and fills in defaults. A new reference; errors go to problems. */
json_t *policy_read(json_t *input, const struct json_path *path,
                    json_t *problems) NONNULL MUST_CHECK;
/* Which actions need confirmation: 0 none, 1 risky ones, 2 all. */
int policy_strictness(const json_t *policy) MUST_CHECK;
/* Checks an object of strings: names are [a-z0-9]+, values have at most TAG_VALUE_MAX_CHARS. */
void tags_check(json_t *tags, const struct json_path *path, json_t *problems) NONNULL;

#endif
