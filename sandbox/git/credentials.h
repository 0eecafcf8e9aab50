/*
 * Passwords and tokens for git hosts, in memory only: each is given to one origin until it expires.
 * The output of the sandbox's tools masks them even after that.
 *
 * Ownership: struct credentials owns and wipes them.
 * Threading: the loop's thread; a fork has its own copy.
 * Decision: docs/decisions/0028-git-credentials.md
 */
#ifndef DEFT_SANDBOX_GIT_CREDENTIALS_H
#define DEFT_SANDBOX_GIT_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct credentials;
struct error;
struct strbuf;

enum credential_state {
    CREDENTIAL_UNKNOWN, /* this server was never given one, or was restarted since */
    CREDENTIAL_VALID,
    CREDENTIAL_EXPIRED,
};

struct credential_view {
    enum credential_state state;
    const char *username; /* both borrowed until the next change; "" unless valid */
    const char *password;
};

struct credential_order {
    const char *origin; /* of git_address_origin() */
    const char *username;
    const char *password;
    int64_t lifetime_ms;
};

struct credentials *credentials_new(void) MUST_CHECK;
void credentials_free(struct credentials *credentials);
/*
 * Stores a credential, replacing the origin's last one. ERROR_INVALID for texts that git's protocol
 * cannot carry or that are too short to mask; ERROR_RATE_LIMITED with too many origins.
 */
int credentials_keep(struct credentials *credentials, const struct credential_order *order,
                     struct error *err) NONNULL MUST_CHECK;
struct credential_view credentials_find(const struct credentials *credentials,
                                        const char *origin) NONNULL MUST_CHECK;

/* Length of the longest form of a password that is masked; 0: there is none. */
size_t credentials_longest(const struct credentials *credentials) NONNULL MUST_CHECK;
/*
 * Appends text with every password ever stored masked in all its forms (model/masking/masker.h),
 * and the Authorization header made from it.
 */
void credentials_mask_append(const struct credentials *credentials, const char *text, size_t len,
                             struct strbuf *out) NONNULL;
/* As above for all strings inside json, which must not be shared; keys stay unchanged. */
void credentials_mask_json(const struct credentials *credentials, json_t *json)
    __attribute__((nonnull(1)));

#endif
