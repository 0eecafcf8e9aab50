/*
 * Making what lets somebody in: API keys and one-time sign-in links of the instance's owner.
 *
 * The token is shown once, to whoever asked on the command line; only its keyed hash is stored.
 */
#ifndef DEFT_AUTH_CREDENTIAL_H
#define DEFT_AUTH_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct api_key;
struct api_key_list;
struct db;
struct error;
struct keyring;
struct strbuf;
struct uuid;

#define CREDENTIAL_KEY_PREFIX "sk-deft-"
#define CREDENTIAL_RUNTIME_KEY_PREFIX "rk-deft-"
/* So much of a key's id is shown: enough to tell one user's keys apart. */
#define CREDENTIAL_KEY_ID_CHARS 8
#define CREDENTIAL_LINK_VALID_S (INT64_C(24) * 3600)

/* The one user of single-user mode, made on first need. */
#define CREDENTIAL_OWNER_EMAIL "owner@localhost"

/* Appends a new API key of the owner. */
int credential_new_key(struct db *db, const struct keyring *keyring, const char *name,
                       struct strbuf *key_out, struct error *err) NONNULL MUST_CHECK;
/* Appends a new key of the Runtime API; max_runtimes that run at a time, 0: the service's setting.
 */
int credential_new_runtime_key(struct db *db, const struct keyring *keyring, const char *name,
                               struct strbuf *key_out, struct error *err) NONNULL MUST_CHECK;
/* The owner's keys, valid or not. */
int credential_list_keys(struct db *db, struct api_key_list *list_out,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * The valid key of the list with that id (at least the characters that are shown of it), else with
 * that name: how many there are; *key_out is the one. An id counts before a name.
 */
size_t credential_pick_key(const struct api_key_list *list, const char *id_or_name,
                           const struct api_key **key_out) NONNULL MUST_CHECK;
/* Revokes a key of the owner. ERROR_NOT_FOUND when it is not valid. */
int credential_revoke_key(struct db *db, const struct uuid *key_id,
                          struct error *err) NONNULL MUST_CHECK;
/* Appends the token of a new sign-in link of the owner. */
int credential_new_link(struct db *db, const struct keyring *keyring, struct strbuf *token_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
