/*
 * The named secrets of a conversation: what is known of each (shown to clients), and its text
 * (sealed).
 */
#ifndef DEFT_MODEL_SECRETS_SECRET_REGISTRY_H
#define DEFT_MODEL_SECRETS_SECRET_REGISTRY_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct place;
struct strbuf;

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
 * Whether a secret's value is hidden in events and replies: one that is shorter than
 * SECRET_MASKED_MIN_CHARS, white space around it not counted, is kept and exported, but stands in
 * too many words that are no secret.
 */
bool secret_is_masked(const char *value) NONNULL MUST_CHECK;
/*
 * Names of the values in a map {name: text | SecretSource} that are kept, but not hidden: a list
 * "A, B" for a warning. Appends nothing when there are none.
 */
void secret_registry_append_unmasked(const json_t *update, struct strbuf *out)
    __attribute__((nonnull(2)));

/*
 * Where a LookupSecret means a value that its user keeps here: the name behind a relative
 * /api/settings/secrets/NAME. NULL for any other source. Borrowed from source.
 */
const char *secret_source_stored_name(const json_t *source) MUST_CHECK;

#endif
