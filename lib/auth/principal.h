/*
 * The caller of a request: who it is, and what it may do.
 */
#ifndef DEFT_AUTH_PRINCIPAL_H
#define DEFT_AUTH_PRINCIPAL_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/uuid.h"

struct caller_query;
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

/* The sandbox's owner, and so what its key gives access to
 * (docs/decisions/0042-sandbox-keys.md). */
enum sandbox_kind {
    SANDBOX_KIND_SHARED,       /* for all conversations of a user without one of their own */
    SANDBOX_KIND_CONVERSATION, /* for one conversation */
    SANDBOX_KIND_TENANT,       /* requested by a tenant of the Runtime API */
    SANDBOX_KIND_REQUESTED,    /* requested by its user through the app API */
    SANDBOX_N_KINDS,
};

/* Access of a sandbox's key to a row of the route table, or to a socket. */
enum sandbox_access {
    SANDBOX_UNSET,   /* an error in a table: refused */
    SANDBOX_OPEN,    /* needs no key, so a sandbox's is allowed */
    SANDBOX_REFUSED, /* 403 */
    SANDBOX_ITSELF,  /* commands, files and git of that sandbox */
    SANDBOX_READS,   /* reads a conversation that runs in it, and uses its workspace */
    SANDBOX_DRIVES,  /* starts conversations in it, and drives those */
    SANDBOX_SECRETS, /* reads stored secrets of its user */
    SANDBOX_N_ACCESS,
};

struct principal {
    enum principal_kind kind;
    enum sandbox_kind sandbox_kind; /* PRINCIPAL_SANDBOX_KEY */
    struct uuid user_id;            /* of a sandbox: its owner */
    struct uuid key_id;             /* USER_KEY; in the gateway also SESSION */
    char runtime_id[17];            /* SANDBOX_KEY */
    bool is_held;                   /* SANDBOX_KEY: its tenant paused it, calls do not wake it */
    char runtime_session[80]; /* SANDBOX_KEY: its session; others: the user's shared sandbox u-<hex>
                               */
};

/*
 * Authenticates by X-Session-API-Key: a user's key or a sandbox's. ERROR_UNAUTHENTICATED for any
 * other.
 */
int principal_from_key(struct db *db, const struct keyring *keyring, const char *key,
                       struct principal *principal_out, struct error *err) NONNULL MUST_CHECK;
/* Authenticates by the value of a browser's session cookie. */
int principal_from_session(struct db *db, const struct keyring *keyring, const char *token,
                           struct principal *principal_out, struct error *err) NONNULL MUST_CHECK;

/*
 * Non-blocking variants: the question for async_store_find_caller(), and the principal of its
 * answer. ERROR_UNAUTHENTICATED for a text that cannot be a key.
 */
int principal_query_of_key(const struct keyring *keyring, const char *key,
                           struct caller_query *query_out, struct error *err) NONNULL MUST_CHECK;
void principal_query_of_session(const struct keyring *keyring, const char *token,
                                struct caller_query *query_out) NONNULL;
int principal_from_caller(const struct caller_query *answer, struct principal *principal_out,
                          struct error *err) NONNULL MUST_CHECK;

/* False when the caller's key is a sandbox's and its kind has no such access. */
bool principal_may(const struct principal *principal,
                   enum sandbox_access access) NONNULL MUST_CHECK;
/*
 * The conversations that it may see; the key of a shared sandbox sees none. Borrows from principal.
 */
struct conversation_scope principal_scope(const struct principal *principal) NONNULL MUST_CHECK;

#endif
