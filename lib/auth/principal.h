/*
 * Who is calling.
 */
#ifndef DEFT_AUTH_PRINCIPAL_H
#define DEFT_AUTH_PRINCIPAL_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/uuid.h"

struct caller_question;
struct conversation_scope;
struct db;
struct error;
struct keyring;

enum principal_kind {
    PRINCIPAL_NOBODY,
    PRINCIPAL_USER_KEY,    /* a user's API key */
    PRINCIPAL_SESSION,     /* a signed-in browser */
    PRINCIPAL_SANDBOX_KEY, /* the key of one sandbox */
};

struct principal {
    enum principal_kind kind;
    struct uuid user_id;      /* of a sandbox: its owner */
    struct uuid key_id;       /* USER_KEY; the gateway's SESSION, too */
    char runtime_id[17];      /* SANDBOX_KEY */
    bool is_held;             /* SANDBOX_KEY: its tenant paused it, calls do not wake it */
    char runtime_session[80]; /* SANDBOX_KEY: its session; others: the user's shared sandbox u-<hex>
                               */
};

/* By X-Session-API-Key: a user's key or a sandbox's. ERROR_UNAUTHENTICATED for any other. */
int principal_from_key(struct db *db, const struct keyring *keyring, const char *key,
                       struct principal *principal_out, struct error *err) NONNULL MUST_CHECK;
/* By the value of the cookie of a signed-in browser. */
int principal_from_session(struct db *db, const struct keyring *keyring, const char *token,
                           struct principal *principal_out, struct error *err) NONNULL MUST_CHECK;

/*
 * The same for a process that must not wait: what to ask with live_ask_caller(), and what its
 * answer says. ERROR_UNAUTHENTICATED for what can be no key.
 */
int principal_question_of_key(const struct keyring *keyring, const char *key,
                              struct caller_question *question_out,
                              struct error *err) NONNULL MUST_CHECK;
void principal_question_of_session(const struct keyring *keyring, const char *token,
                                   struct caller_question *question_out) NONNULL;
int principal_from_caller(const struct caller_question *answer, struct principal *principal_out,
                          struct error *err) NONNULL MUST_CHECK;

/* What it may see. Borrows from principal. */
struct conversation_scope principal_scope(const struct principal *principal) NONNULL MUST_CHECK;

#endif
