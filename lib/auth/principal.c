#include "auth/principal.h"

#include <string.h>

#include "auth/credential.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "store/conversation/async_store.h"
#include "store/conversation/conversation_store.h"
#include "store/runtime/runtime_store.h"
#include "store/runtime/sandbox_store.h"
#include "store/user/user_store.h"

/* Longer keys are not hashed: none of ours is. */
enum { KEY_MAX_BYTES = 512, PREFIX_BYTES = sizeof(SHARED_SESSION_PREFIX) - 1 };

/* The sandbox that all conversations and calls of a user share, unless they request their own. */
static void set_shared_session(struct principal *principal)
{
    char hex[UUID_HEX_BYTES];

    uuid_to_hex(&principal->user_id, hex);
    memcpy(principal->runtime_session, SHARED_SESSION_PREFIX, PREFIX_BYTES);
    memcpy(principal->runtime_session + PREFIX_BYTES, hex, sizeof(hex));
}

/*
 * Conversations in tenants' sandboxes, and in those that users requested, were started with the
 * sandbox's key by the client that holds it. In other sandboxes they belong to the user.
 */
static enum sandbox_kind kind_of(const char *session, bool has_tenant)
{
    if (has_tenant)
        return SANDBOX_KIND_TENANT;
    if (text_starts_with(session, SANDBOX_SESSION_PREFIX))
        return SANDBOX_KIND_REQUESTED;
    if (text_starts_with(session, CONVERSATION_SESSION_PREFIX))
        return SANDBOX_KIND_CONVERSATION;
    return SANDBOX_KIND_SHARED;
}

static int from_user_key(struct db *db, const char *hash, struct principal *principal_out,
                         struct error *err)
{
    struct principal principal = {.kind = PRINCIPAL_USER_KEY};

    if (user_store_find_key(db, hash, &principal.user_id, &principal.key_id, err) < 0)
        return -1;
    set_shared_session(&principal);
    *principal_out = principal;
    return 0;
}

static int from_sandbox_key(struct db *db, const char *hash, struct principal *principal_out,
                            struct error *err)
{
    CLEANUP(runtime_done) struct runtime runtime = RUNTIME_INIT;
    struct principal principal = {.kind = PRINCIPAL_SANDBOX_KEY};
    size_t len = 0;

    if (runtime_store_find_key(db, hash, &runtime, err) < 0)
        return -1;
    /* A sandbox without an owner can see nothing: all data belongs to a user. */
    if (!uuid_is_set(&runtime.owner_id))
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox has no owner");
    len = strlen(runtime.session_id);
    if (len >= sizeof(principal.runtime_session))
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox's session name is too long");
    principal.user_id = runtime.owner_id;
    principal.is_held = runtime.is_held;
    principal.sandbox_kind = kind_of(runtime.session_id, uuid_is_set(&runtime.tenant_id));
    memcpy(principal.runtime_id, runtime.id, sizeof(principal.runtime_id));
    memcpy(principal.runtime_session, runtime.session_id, len + 1);
    *principal_out = principal;
    return 0;
}

int principal_from_key(struct db *db, const struct keyring *keyring, const char *key,
                       struct principal *principal_out, struct error *err)
{
    char hash[CRYPTO_HASH_HEX_BYTES];

    if (key[0] == '\0' || strnlen(key, KEY_MAX_BYTES + 1) > KEY_MAX_BYTES)
        return error_set(err, ERROR_UNAUTHENTICATED, "no such key");
    keyring_hash_token(keyring, key, hash);
    if (text_starts_with(key, CREDENTIAL_KEY_PREFIX))
        return from_user_key(db, hash, principal_out, err);
    if (from_sandbox_key(db, hash, principal_out, err) == 0)
        return 0;
    /* Keys given at a deferred start may have any form, and are a user's. */
    if (err->code != ERROR_UNAUTHENTICATED)
        return -1;
    return from_user_key(db, hash, principal_out, err);
}

int principal_from_session(struct db *db, const struct keyring *keyring, const char *token,
                           struct principal *principal_out, struct error *err)
{
    struct principal principal = {.kind = PRINCIPAL_SESSION};
    char hash[CRYPTO_HASH_HEX_BYTES];

    keyring_hash_token(keyring, token, hash);
    if (user_store_find_session(db, hash, &principal.user_id, err) < 0)
        return -1;
    set_shared_session(&principal);
    *principal_out = principal;
    return 0;
}

int principal_query_of_key(const struct keyring *keyring, const char *key,
                           struct caller_query *query_out, struct error *err)
{
    if (key[0] == '\0' || strnlen(key, KEY_MAX_BYTES + 1) > KEY_MAX_BYTES)
        return error_set(err, ERROR_UNAUTHENTICATED, "no such key");
    keyring_hash_token(keyring, key, query_out->hash);
    query_out->kind =
        text_starts_with(key, CREDENTIAL_KEY_PREFIX) ? CALLER_USER_KEY : CALLER_SANDBOX_KEY;
    return 0;
}

void principal_query_of_session(const struct keyring *keyring, const char *token,
                                struct caller_query *query_out)
{
    keyring_hash_token(keyring, token, query_out->hash);
    query_out->kind = CALLER_SESSION;
}

int principal_from_caller(const struct caller_query *answer, struct principal *principal_out,
                          struct error *err)
{
    static const enum principal_kind kinds[] = {
        [CALLER_USER_KEY] = PRINCIPAL_USER_KEY,
        [CALLER_SESSION] = PRINCIPAL_SESSION,
        [CALLER_SANDBOX_KEY] = PRINCIPAL_SANDBOX_KEY,
    };
    struct principal principal = {
        .kind = kinds[answer->kind], .user_id = answer->user_id, .key_id = answer->key_id};

    if (!uuid_is_set(&answer->user_id))
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox has no owner");
    if (answer->kind == CALLER_SANDBOX_KEY && answer->runtime_session[0] == '\0')
        return error_set(err, ERROR_UNAUTHENTICATED, "the sandbox's session name is too long");
    if (answer->kind == CALLER_SANDBOX_KEY) {
        memcpy(principal.runtime_id, answer->runtime_id, sizeof(principal.runtime_id));
        memcpy(principal.runtime_session, answer->runtime_session,
               sizeof(principal.runtime_session));
        principal.sandbox_kind = kind_of(answer->runtime_session, answer->has_tenant);
    } else {
        set_shared_session(&principal);
    }
    *principal_out = principal;
    return 0;
}

bool principal_may(const struct principal *principal, enum sandbox_access access)
{
    static const bool is_open[SANDBOX_N_ACCESS][SANDBOX_N_KINDS] = {
        [SANDBOX_OPEN] = {true, true, true, true},
        [SANDBOX_ITSELF] = {true, true, true, true},
        [SANDBOX_READS] = {[SANDBOX_KIND_CONVERSATION] = true,
                           [SANDBOX_KIND_TENANT] = true,
                           [SANDBOX_KIND_REQUESTED] = true},
        [SANDBOX_DRIVES] = {[SANDBOX_KIND_TENANT] = true, [SANDBOX_KIND_REQUESTED] = true},
        [SANDBOX_SECRETS] = {[SANDBOX_KIND_REQUESTED] = true},
    };

    return principal->kind != PRINCIPAL_SANDBOX_KEY || is_open[access][principal->sandbox_kind];
}

/* A session that no conversation has. */
#define NO_SESSION ""

struct conversation_scope principal_scope(const struct principal *principal)
{
    struct conversation_scope scope = {.user_id = principal->user_id, .runtime_session = NULL};

    if (principal->kind == PRINCIPAL_SANDBOX_KEY)
        scope.runtime_session =
            principal_may(principal, SANDBOX_READS) ? principal->runtime_session : NO_SESSION;
    return scope;
}
