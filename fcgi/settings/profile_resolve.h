/*
 * From an agent profile to the agent settings that it means: its LLM profile, servers and
 * meta-profile looked up, and what could not be found.
 */
#ifndef DEFT_FCGI_SETTINGS_PROFILE_RESOLVE_H
#define DEFT_FCGI_SETTINGS_PROFILE_RESOLVE_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

struct resolution {
    json_t *settings;    /* agent settings, secrets in clear */
    json_t *diagnostics; /* of the contract, resolved_settings masked */
};

/* clang-format off */
#define RESOLUTION_INIT {NULL, NULL}
/* clang-format on */

void resolution_done(struct resolution *resolution) NONNULL;

/*
 * profile: a body as agent_profile_read() gives it. llm_ref: a LLM profile instead of the profile's
 * own, or NULL. What is dangling is in the diagnostics, not an error.
 *
 * The LLM profile "default", where none has that name, is the LLM of the settings: so the default
 * agent profile works before anything was saved.
 */
int profile_resolve(const struct request *request, const json_t *profile, const char *llm_ref,
                    struct resolution *resolution_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
