/*
 * Creates credentials: API keys and one-time sign-in links of the instance's owner.
 *
 * The token is shown once, on the command line that requested it; only its keyed hash is stored.
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
/* Characters of a key's id that are shown: enough to tell one user's keys apart. */
#define CREDENTIAL_KEY_ID_CHARS 8
#define CREDENTIAL_LINK_VALID_S (INT64_C(24) * 3600)

/* The one user of single-user mode, created on first use. */
#define CREDENTIAL_OWNER_EMAIL "owner@localhost"

/* Creates an API key of the owner and appends it. */
int credential_new_key(struct db *db, const struct keyring *keyring, const char *name,
                       struct strbuf *key_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Creates a key of the Runtime API and appends it; its limit of running runtimes is the service's.
 */
int credential_new_runtime_key(struct db *db, const struct keyring *keyring, const char *name,
                               struct strbuf *key_out, struct error *err) NONNULL MUST_CHECK;
/* The owner's keys, valid or revoked. */
int credential_list_keys(struct db *db, struct api_key_list *list_out,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * Finds the valid key with that id (at least its shown characters), else with that name. Returns
 * the number of matches; *key_out is the match. An id takes precedence over a name.
 */
size_t credential_pick_key(const struct api_key_list *list, const char *id_or_name,
                           const struct api_key **key_out) NONNULL MUST_CHECK;
/* Revokes a key of the owner. ERROR_NOT_FOUND when it is not valid. */
int credential_revoke_key(struct db *db, const struct uuid *key_id,
                          struct error *err) NONNULL MUST_CHECK;
/* Creates a sign-in link of the owner and appends its token. */
int credential_new_link(struct db *db, const struct keyring *keyring, struct strbuf *token_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
