/*
 * Second stage of a start: replaces references in a start request by what they refer to: sealed
 * secrets, a stored agent profile, launch additions, skills of plugins, provider connections.
 *
 * Threading: no state.
 */
#ifndef DEFT_START_START_EXPAND_H
#define DEFT_START_START_EXPAND_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct start_context;
struct start_request;

/*
 * Changes the request in place. ERROR_NOT_FOUND: no such agent profile. ERROR_INVALID: a referenced
 * object is missing, or a sealed secret is not from this server; with request->refusal where the
 * reply is not a list of problems. ERROR_FORBIDDEN: a sandbox's key asks for data that its user
 * stored.
 */
int start_expand(const struct start_context *context, struct start_request *request,
                 struct error *err) NONNULL MUST_CHECK;

/*
 * As above for a single LLM object: opens sealed secrets and resolves its provider connection. A
 * sandbox's key may use neither.
 */
int start_expand_llm(const struct start_context *context, json_t *llm,
                     struct error *err) NONNULL MUST_CHECK;

/* As above for the models of a security analyzer, if it has any; analyzer: NULL for none. */
int start_expand_analyzer(const struct start_context *context, json_t *analyzer, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

/*
 * Resolves {NAME: source} given with a sandbox's key: look-ups that its sandbox may make are
 * replaced by their values. ERROR_FORBIDDEN for other look-ups, which would give it the user's
 * stored secrets or addresses of the host. Those given by users are left unchanged.
 */
int start_expand_lookups(const struct start_context *context, json_t *secrets, struct error *err)
    __attribute__((nonnull(1, 3))) MUST_CHECK;

#endif
