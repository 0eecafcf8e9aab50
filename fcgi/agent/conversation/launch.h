/*
 * What a start request refers to, put in its place before the request is read: sealed secrets, a
 * stored agent profile, launch additions, provider connections.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_LAUNCH_H
#define DEFT_FCGI_AGENT_CONVERSATION_LAUNCH_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct reply;
struct request;

struct launch {
    json_t *profile;  /* launched_agent_profile; NULL without one */
    bool is_answered; /* the reply says what is wrong */
};

/* clang-format off */
#define LAUNCH_INIT {NULL, false}
/* clang-format on */

void launch_done(struct launch *launch) NONNULL;

/*
 * Changes the body in place. ERROR_NOT_FOUND: no such agent profile. ERROR_INVALID: what it refers
 * to is missing, or a sealed secret is not ours. ERROR_FORBIDDEN: a sandbox's key asks for what its
 * user keeps.
 */
int launch_prepare(const struct request *request, json_t *body, struct reply *reply,
                   struct launch *launch, struct error *err) NONNULL MUST_CHECK;

/* ERROR_FORBIDDEN for a sandbox's key: what the user keeps is not for its agent. */
int launch_check_user(const struct request *request, struct error *err) NONNULL MUST_CHECK;

/*
 * A LLM object of a body as a call needs it: sealed secrets opened, its provider connection
 * resolved. A sandbox's key may use neither. ERROR_INVALID (noted, or in words), ERROR_FORBIDDEN.
 */
int launch_open_llm(const struct request *request, json_t *llm,
                    struct error *err) NONNULL MUST_CHECK;

/*
 * {NAME: source} of a sandbox's key: what its sandbox may read is read, and a value from here on.
 * ERROR_FORBIDDEN for other look-ups: neither the user's stored secrets nor an address of the
 * host's is brought into its reach. Those of users are left as they are.
 */
int launch_take_lookups(const struct request *request, json_t *secrets, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
