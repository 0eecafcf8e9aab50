/*
 * Agent profiles (which LLM profile, tools, secrets and servers an agent starts with) and
 * meta-profiles (which LLM profile serves which kind of task): their members, and how they are
 * checked. What they refer to is found elsewhere.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_PROFILE_H
#define DEFT_MODEL_AGENT_AGENT_PROFILE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct place;

/*
 * A profile of either agent_kind with all defaults, without id, name and revision, which its keeper
 * knows. A new reference; what is wrong, strange members too, is appended to problems.
 */
json_t *agent_profile_read(json_t *input, const struct place *place,
                           json_t *problems) NONNULL MUST_CHECK;
/* As agent_profile_read(): either classes or a prompt_template for `{{ instance_text }}`. */
json_t *meta_profile_read(json_t *input, const struct place *place,
                          json_t *problems) NONNULL MUST_CHECK;

/* True when refs (a list, or null for all) has the name. */
bool refs_allow(const json_t *refs, const char *name) __attribute__((nonnull(2))) MUST_CHECK;
/* Leaves only those members of a map whose names are allowed. */
void refs_filter(const json_t *refs, json_t *map);

#endif
