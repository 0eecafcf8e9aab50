/*
 * Browser sign-in: a one-time link is exchanged for a session, which a cookie carries.
 *
 * Tokens exist only here and in the browser; the tables contain keyed hashes.
 */
#ifndef DEFT_AUTH_SESSION_H
#define DEFT_AUTH_SESSION_H

#include <stdint.h>

#include "base/attr.h"
#include "base/crypto.h"

struct db;
struct error;
struct user;

#define SESSION_VALID_S (INT64_C(30) * 24 * 3600)
/* Size of a buffer for a cookie's value. */
#define SESSION_TOKEN_MAX_BYTES 128

/*
 * Uses the link up and opens a session. ERROR_UNAUTHENTICATED when it is unknown, used or expired.
 */
int session_open(struct db *db, const struct keyring *keyring, const char *link_token,
                 char token_out[CRYPTO_TOKEN_BYTES], struct error *err) NONNULL MUST_CHECK;
/* The owner of a link, without using it up. ERROR_UNAUTHENTICATED as session_open(). */
int session_link_owner(struct db *db, const struct keyring *keyring, const char *link_token,
                       struct user *owner_out, struct error *err) NONNULL MUST_CHECK;
int session_close(struct db *db, const struct keyring *keyring, const char *token,
                  struct error *err) NONNULL MUST_CHECK;

#endif
