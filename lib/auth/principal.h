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

/* Whose sandbox it is, and so what its key opens (docs/decisions/sandbox-keys.md). */
enum sandbox_kind {
    SANDBOX_KIND_SHARED,       /* all conversations of a user that ask for no other */
    SANDBOX_KIND_CONVERSATION, /* one conversation's own */
    SANDBOX_KIND_TENANT,       /* a tenant of the Runtime API asked for it */
    SANDBOX_KIND_REQUESTED,    /* its user asked for it by the app API */
    SANDBOX_N_KINDS,
};

/* What a row of the route table, or a socket, lets a sandbox's key do. */
enum sandbox_access {
    SANDBOX_UNSET,   /* a mistake in a table: refused */
    SANDBOX_OPEN,    /* asks for no key, so a sandbox's is as good as none */
    SANDBOX_REFUSED, /* 403 */
    SANDBOX_ITSELF,  /* commands, files and git of that sandbox */
    SANDBOX_READS,   /* reads a conversation that runs in it, and uses its workspace */
    SANDBOX_DRIVES,  /* begins conversations in it, and drives those */
    SANDBOX_SECRETS, /* reads stored secrets of its user */
    SANDBOX_N_ACCESS,
};

struct principal {
    enum principal_kind kind;
    enum sandbox_kind sandbox_kind; /* SANDBOX_KEY */
    struct uuid user_id;            /* of a sandbox: its owner */
    struct uuid key_id;             /* USER_KEY; the gateway's SESSION, too */
    char runtime_id[17];            /* SANDBOX_KEY */
    bool is_held;                   /* SANDBOX_KEY: its tenant paused it, calls do not wake it */
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

/* False when the caller's key is a sandbox's, and not of a kind to which that is open. */
bool principal_may(const struct principal *principal,
                   enum sandbox_access access) NONNULL MUST_CHECK;
/* What it may see; the key of a shared sandbox sees no conversation. Borrows from principal. */
struct conversation_scope principal_scope(const struct principal *principal) NONNULL MUST_CHECK;

#endif
