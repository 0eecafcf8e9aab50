/*
 * Converts a conversation's secrets between the sealed text in the row and JSON. They are sealed to
 * their conversation and cannot be opened from another one's row.
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

/* Gives a new reference: an object, empty if there are none. ERROR_INTERNAL if they cannot be
 * opened. */
int vault_open(const struct keyring *keyring, const struct conversation *conversation,
               json_t **secrets_out, struct error *err) NONNULL MUST_CHECK;
/* Returns the sealed text for the conversation's row; mem_free() it. */
char *vault_seal(const struct keyring *keyring, const struct conversation *conversation,
                 const json_t *secrets) NONNULL MUST_CHECK;
/* As above, from JSON text. */
char *vault_seal_text(const struct keyring *keyring, const struct conversation *conversation,
                      const struct secret *secrets) NONNULL MUST_CHECK;
/*
 * Gives the secrets of one conversation sealed for another; NULL if there are none. mem_free() it.
 */
int vault_copy(const struct keyring *keyring, const struct conversation *from,
               const struct conversation *to, char **sealed_out,
               struct error *err) NONNULL MUST_CHECK;

#endif
