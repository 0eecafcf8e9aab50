/*
 * Passwords and tokens for git hosts, in memory alone: each is shown to one origin until it
 * expires, and is hidden for ever in what the sandbox's tools print.
 *
 * Ownership: struct credentials owns and wipes them.
 * Threading: the loop's thread; a job has a copy of the process's.
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
    CREDENTIAL_UNKNOWN, /* this server was never given one, or it was restarted since */
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
/* Keeps one in the place of the origin's last. ERROR_INVALID for texts that git's protocol cannot
 * carry, or too short to be hidden; ERROR_RATE_LIMITED with too many origins. */
int credentials_keep(struct credentials *credentials, const struct credential_order *order,
                     struct error *err) NONNULL MUST_CHECK;
struct credential_view credentials_find(const struct credentials *credentials,
                                        const char *origin) NONNULL MUST_CHECK;

/* How long a form of a password may be that is hidden; 0: there is none. */
size_t credentials_longest(const struct credentials *credentials) NONNULL MUST_CHECK;
/*
 * Appends text with each password that was ever kept hidden in all its forms
 * (model/masking/masker.h), and the header made of it.
 */
void credentials_mask_append(const struct credentials *credentials, const char *text, size_t len,
                             struct strbuf *out) NONNULL;
/* The same for all strings inside json, which must not be shared; keys stay. */
void credentials_mask_json(const struct credentials *credentials, json_t *json)
    __attribute__((nonnull(1)));

#endif
