/*
 * Converts a conversation's secrets between the sealed text in the row and JSON. They are sealed to
 * their conversation and cannot be opened from another one's row.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_CONVERSATION_SEALED_SECRETS_H
#define DEFT_MODEL_CONVERSATION_SEALED_SECRETS_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct error;
struct keyring;
struct secret;

/* Gives a new reference: an object, empty if there are none. ERROR_INTERNAL if they cannot be
 * opened. */
int sealed_secrets_open(const struct keyring *keyring, const struct conversation *conversation,
                        json_t **secrets_out, struct error *err) NONNULL MUST_CHECK;
/* Returns the sealed text for the conversation's row; mem_free() it. */
char *sealed_secrets_seal(const struct keyring *keyring, const struct conversation *conversation,
                          const json_t *secrets) NONNULL MUST_CHECK;
/* As above, from JSON text. */
char *sealed_secrets_seal_text(const struct keyring *keyring,
                               const struct conversation *conversation,
                               const struct secret *secrets) NONNULL MUST_CHECK;
/*
 * Gives the secrets of one conversation sealed for another; NULL if there are none. mem_free() it.
 */
int sealed_secrets_copy(const struct keyring *keyring, const struct conversation *from,
                        const struct conversation *to, char **sealed_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
