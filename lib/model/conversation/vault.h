/*
 * A conversation's secrets between their sealed form in the row and the JSON that they are. They
 * are sealed to their conversation: no other one's row can hold them.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_CONVERSATION_VAULT_H
#define DEFT_MODEL_CONVERSATION_VAULT_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct keyring;
struct secret;

/* A new reference: an object, empty when there are none. ERROR_INTERNAL when they cannot be read.
 */
int vault_open(const struct keyring *keyring, const struct conversation *conversation,
               json_t **secrets_out, struct error *err) NONNULL MUST_CHECK;
/* The sealed text for the row of that conversation; mem_free() it. */
char *vault_seal(const struct keyring *keyring, const struct conversation *conversation,
                 const json_t *secrets) NONNULL MUST_CHECK;
/* The same of their JSON as text. */
char *vault_seal_text(const struct keyring *keyring, const struct conversation *conversation,
                      const struct secret *secrets) NONNULL MUST_CHECK;
/* Those of one conversation, sealed anew for another; NULL when there are none. mem_free() it. */
int vault_copy(const struct keyring *keyring, const struct conversation *from,
               const struct conversation *to, char **sealed_out,
               struct error *err) NONNULL MUST_CHECK;

#endif
