/*
 * Resolves an agent profile to agent settings: looks up its LLM profile, servers and meta-profile,
 * and reports those that are missing.
 */
#ifndef DEFT_START_PROFILE_RESOLVE_H
#define DEFT_START_PROFILE_RESOLVE_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct start_context;

struct resolution {
    json_t *settings;    /* agent settings, secrets in clear */
    json_t *diagnostics; /* of the contract, resolved_settings masked */
};

/* clang-format off */
#define RESOLUTION_INIT {NULL, NULL}
/* clang-format on */

void resolution_done(struct resolution *resolution) NONNULL;

/*
 * profile: a body as agent_profile_read() returns it. llm_ref: an LLM profile instead of the
 * profile's own, or NULL. Dangling references are in the diagnostics, not errors.
 *
 * The LLM profile "default", if there is none of that name, is the settings' LLM: so the default
 * agent profile works before anything is saved.
 */
int profile_resolve(const struct start_context *context, const json_t *profile, const char *llm_ref,
                    struct resolution *resolution_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
