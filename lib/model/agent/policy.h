/*
 * Small objects of a conversation that clients set: confirmation policy, security analyzer, tags.
 */
#ifndef DEFT_MODEL_AGENT_POLICY_H
#define DEFT_MODEL_AGENT_POLICY_H

#include <jansson.h>

#include "base/attr.h"

struct place;

/* A ConfirmationPolicy with its defaults. A new reference; what is wrong goes to problems. */
json_t *policy_read(json_t *input, const struct place *place, json_t *problems) NONNULL MUST_CHECK;
/* How much of what an agent wants is confirmed: 0 nothing, 1 what is risky, 2 all. */
int policy_strictness(const json_t *policy) MUST_CHECK;
/* A security analyzer, or null. A new reference; what is wrong goes to problems. */
json_t *analyzer_read(json_t *input, const struct place *place,
                      json_t *problems) NONNULL MUST_CHECK;
/* Names of [a-z0-9]+ and values of at most TAG_VALUE_MAX_CHARS; tags is an object of texts. */
void tags_check(json_t *tags, const struct place *place, json_t *problems) NONNULL;

#endif
