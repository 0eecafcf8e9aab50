/*
 * Inside of lib/llm: from a model's name and base URL to the provider, the format it speaks, and
 * where to send a call.
 *
 * Ownership: route_done() releases what llm_route_find() made.
 * Source: the contract's table of model prefixes.
 */
#ifndef DEFT_LLM_ROUTE_H
#define DEFT_LLM_ROUTE_H

#include <stdbool.h>

#include "base/attr.h"

struct llm_trouble;

enum route_format {
    ROUTE_CHAT,     /* OpenAI Chat Completions */
    ROUTE_SCRIPTED, /* plays a file */
    ROUTE_NONE,     /* known, but deft has no format for it yet */
};

struct route_provider {
    const char *prefix;
    const char *base_url; /* NULL: the configuration must name it */
    enum route_format format;
    bool is_open;          /* takes what is new in OpenAI's own API: prompt_cache_key, … */
    bool takes_litellm;    /* cache_control, thinking_blocks */
    bool has_version_path; /* a base URL without /v1 gets it */
};

struct route {
    const struct route_provider *provider; /* lives for ever */
    char *model;                           /* as the server calls it */
    char *url;                             /* of the endpoint; NULL for scripted */
};

/* clang-format off */
#define ROUTE_INIT {NULL, NULL, NULL}
/* clang-format on */

void route_done(struct route *route);
/* base_url may be NULL. Fails with cause UNSUPPORTED or BAD_REQUEST, in words for the user. */
int llm_route_find(const char *model, const char *base_url, struct route *route_out,
                   struct llm_trouble *trouble) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;

#endif
