/*
 * The named secrets of a conversation: what is known of each (shown to clients), and its text
 * (sealed).
 */
#ifndef DEFT_MODEL_SECRET_REGISTRY_H
#define DEFT_MODEL_SECRET_REGISTRY_H

#include <jansson.h>

#include "base/attr.h"

struct place;

/*
 * Takes over a map of name → text or SecretSource: sources gets {name: source with its value
 * hidden}, values gets {name: text}. A hidden value keeps the text that is there; an empty one
 * removes it. What is wrong goes to problems.
 */
void secret_registry_update(json_t *sources, json_t *values, json_t *update,
                            const struct place *place, json_t *problems) NONNULL;
/* Only secrets of an agent's context may be null; update: NULL or the map. */
void secret_registry_refuse_nulls(json_t *update, const struct place *place, json_t *problems)
    __attribute__((nonnull(2, 3)));

/*
 * Where a LookupSecret means a value that its user keeps here: the name behind a relative
 * /api/settings/secrets/NAME. NULL for any other source. Borrowed from source.
 */
const char *secret_source_stored_name(const json_t *source) MUST_CHECK;

#endif
