/*
 * A conversation's secrets between their sealed form in the row and the JSON that they are.
 */
#ifndef DEFT_FCGI_AGENT_VAULT_H
#define DEFT_FCGI_AGENT_VAULT_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct keyring;

/* A new reference: an object, empty when there are none. ERROR_INTERNAL when they cannot be read.
 */
int vault_open(const struct keyring *keyring, const struct conversation *conversation,
               json_t **secrets_out, struct error *err) NONNULL MUST_CHECK;
/* The sealed text for the row of that conversation; mem_free() it. */
char *vault_seal(const struct keyring *keyring, const struct conversation *conversation,
                 const json_t *secrets) NONNULL MUST_CHECK;

#endif
