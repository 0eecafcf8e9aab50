/*
 * The warning about stored secrets that are too short to be masked.
 */
#ifndef DEFT_FCGI_SETTINGS_UNMASKED_SECRETS_H
#define DEFT_FCGI_SETTINGS_UNMASKED_SECRETS_H

#include <jansson.h>

#include "base/attr.h"

struct reply;

/*
 * Lists, in a header and (where body is given) in its member `warning`, the secrets in update
 * ({name: text | SecretSource}) that were stored but are too short to be masked.
 */
void unmasked_secrets_warn(struct reply *reply, const json_t *update, json_t *body)
    __attribute__((nonnull(1)));

#endif
