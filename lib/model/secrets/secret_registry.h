/*
 * The named secrets of a conversation: the source of each (shown to clients), and its value
 * (sealed).
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_REGISTRY_H
#define DEFT_MODEL_SECRETS_SECRET_REGISTRY_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct json_path;
struct strbuf;

/*
 * Merges a map of name → text or SecretSource: sources gets {name: source with its value hidden},
 * values gets {name: text}. A marker as value keeps the stored text; an empty value removes it.
 * Errors go to problems.
 */
void secret_registry_update(json_t *sources, json_t *values, json_t *update,
                            const struct json_path *path, json_t *problems) NONNULL;
/*
 * Adds a problem for each null in update (which may be NULL); only secrets of an agent's context
 * may be null.
 */
void secret_registry_refuse_nulls(json_t *update, const struct json_path *path, json_t *problems)
    __attribute__((nonnull(2, 3)));

/*
 * Appends the names of values in a map {name: text | SecretSource} that are too short to be hidden,
 * as "A, B", for a warning. Appends nothing if there are none.
 */
void secret_registry_append_unmasked(const json_t *update, struct strbuf *out)
    __attribute__((nonnull(2)));

/*
 * Returns the name if a LookupSecret refers to a secret stored here, by a relative URL
 * /api/settings/secrets/NAME; NULL for any other source. Borrowed from source.
 */
const char *secret_source_stored_name(const json_t *source) MUST_CHECK;

#endif
