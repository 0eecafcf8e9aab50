/*
 * Agent profiles for other modules: loading one for a launch.
 */
#ifndef DEFT_FCGI_SETTINGS_AGENT_PROFILES_H
#define DEFT_FCGI_SETTINGS_AGENT_PROFILES_H

#include "base/attr.h"
#include "base/uuid.h"

struct document;
struct error;
struct request;

/* ERROR_NOT_FOUND when the user has no such profile. */
int agent_profile_load(const struct request *request, const struct uuid *id,
                       struct document *profile_out, struct error *err) NONNULL MUST_CHECK;

#endif
