/*
 * Users and their credentials: sign-in links, sessions, API keys. Tokens arrive as keyed hashes
 * (keyring_hash_token()); the tables never contain a token.
 */
#ifndef DEFT_STORE_USER_USER_STORE_H
#define DEFT_STORE_USER_USER_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;

struct user {
    struct uuid id;
    char *email;
    char *name;
};

/* clang-format off */
#define USER_INIT {UUID_INIT, NULL, NULL}
/* clang-format on */

void user_done(struct user *user);

/* The user with that address, created when there is none. */
int user_store_ensure(struct db *db, const char *email, struct user *user_out,
                      struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND when there is no such user. */
int user_store_get(struct db *db, const struct uuid *id, struct user *user_out,
                   struct error *err) NONNULL MUST_CHECK;

/* Stores a one-time link by the hash of its token; it is valid for valid_s. */
int user_store_add_link(struct db *db, const struct uuid *user_id, const char *token_hash,
                        int64_t valid_s, struct error *err) NONNULL MUST_CHECK;
/* Uses a link up and opens a session, atomically. ERROR_UNAUTHENTICATED when it is unknown, used or
 * expired. */
int user_store_use_link(struct db *db, const char *token_hash, const char *session_hash,
                        int64_t session_s, struct error *err) NONNULL MUST_CHECK;
/* The owner of a link, without using it up. ERROR_UNAUTHENTICATED as user_store_use_link(). */
int user_store_find_link(struct db *db, const char *token_hash, struct user *owner_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Deletes the session, and sends the hint that closes its sockets; success if there is none. */
int user_store_end_session(struct db *db, const char *session_hash,
                           struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAUTHENTICATED when there is no live session. */
int user_store_find_session(struct db *db, const char *session_hash, struct uuid *user_id_out,
                            struct error *err) NONNULL MUST_CHECK;

/* Stores a key by its hash. name: shown to its owner. */
int user_store_add_key(struct db *db, const struct uuid *user_id, const char *name,
                       const char *key_hash, struct error *err) NONNULL MUST_CHECK;
/* A key as shown to its owner. Times are UTC, to the minute. */
struct api_key {
    struct uuid id;
    char *name;
    char *serves; /* agent: a user's key; runtime: one of the Runtime API */
    char *made_at;
    char *revoked_at; /* "": it is valid */
};
struct api_key_list {
    struct api_key *items;
    size_t n;
};
/* clang-format off */
#define API_KEY_LIST_INIT {NULL, 0}
/* clang-format on */
void api_key_list_done(struct api_key_list *list);

/* All keys of either kind that the user ever had, oldest first. */
int user_store_list_keys(struct db *db, const struct uuid *user_id, struct api_key_list *list_out,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * Revokes a key of either kind; sandboxes that it requested are to be deleted. ERROR_NOT_FOUND when
 * it is not a valid key of that user.
 */
int user_store_revoke_key(struct db *db, const struct uuid *user_id, const struct uuid *key_id,
                          struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAUTHENTICATED when no live key has that hash. */
int user_store_find_key(struct db *db, const char *key_hash, struct uuid *user_id_out,
                        struct uuid *key_id_out, struct error *err) NONNULL MUST_CHECK;

#endif
