/*
 * Expands the references in a start request before it is parsed: sealed secrets, a stored agent
 * profile, launch additions, provider connections.
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
    bool is_answered; /* the reply already holds the refusal */
};

/* clang-format off */
#define LAUNCH_INIT {NULL, false}
/* clang-format on */

void launch_done(struct launch *launch) NONNULL;

/*
 * Changes the body in place. ERROR_NOT_FOUND: no such agent profile. ERROR_INVALID: a referenced
 * object is missing, or a sealed secret is not from this server. ERROR_FORBIDDEN: a sandbox's key
 * asks for data that its user stored.
 */
int launch_prepare(const struct request *request, json_t *body, struct reply *reply,
                   struct launch *launch, struct error *err) NONNULL MUST_CHECK;

/* ERROR_FORBIDDEN for a sandbox's key: the user's stored data is not for its agent. */
int launch_check_user(const struct request *request, struct error *err) NONNULL MUST_CHECK;

/*
 * Prepares an LLM object of a body for a call: opens sealed secrets and resolves its provider
 * connection. A sandbox's key may use neither. ERROR_INVALID (noted, or in the message),
 * ERROR_FORBIDDEN.
 */
int launch_open_llm(const struct request *request, json_t *llm,
                    struct error *err) NONNULL MUST_CHECK;

/*
 * Resolves {NAME: source} given with a sandbox's key: look-ups that its sandbox may make are
 * replaced by their values. ERROR_FORBIDDEN for other look-ups, which would give it the user's
 * stored secrets or addresses of the host. Those given by users are left unchanged.
 */
int launch_take_lookups(const struct request *request, json_t *secrets, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
