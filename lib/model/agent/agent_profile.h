/*
 * Agent profiles (which LLM profile, tools, secrets and servers an agent starts with) and
 * meta-profiles (which LLM profile serves which kind of task): their members and validation.
 * References are resolved elsewhere.
 */
#ifndef DEFT_MODEL_AGENT_AGENT_PROFILE_H
#define DEFT_MODEL_AGENT_AGENT_PROFILE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct json_path;

/*
 * Reads a profile of either agent_kind and fills in all defaults; id, name and revision, which the
 * store keeps, are left out. Returns a new reference; errors, including unknown members, are
 * appended to problems.
 */
json_t *agent_profile_read(json_t *input, const struct json_path *path,
                           json_t *problems) NONNULL MUST_CHECK;
/* As agent_profile_read(): either classes or a prompt_template for `{{ instance_text }}`. */
json_t *meta_profile_read(json_t *input, const struct json_path *path,
                          json_t *problems) NONNULL MUST_CHECK;

/* True if refs (a list, or null for all) contains the name. */
bool refs_allow(const json_t *refs, const char *name) __attribute__((nonnull(2))) MUST_CHECK;
/* Removes the members of a map whose names refs does not allow. */
void refs_filter(const json_t *refs, json_t *map);

#endif
