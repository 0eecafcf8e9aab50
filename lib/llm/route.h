/*
 * Internal to lib/llm: maps a model's name and base URL to its provider, wire format and endpoint.
 *
 * Ownership: llm_route_done() releases what llm_route_find() made.
 * Source: the contract's table of model prefixes.
 */
#ifndef DEFT_LLM_ROUTE_H
#define DEFT_LLM_ROUTE_H

#include <stdbool.h>

#include "base/attr.h"
#include "llm/format.h"

struct catalogue;
struct llm_error;

struct route_provider {
    const char *prefix;
    const char *base_url;     /* NULL: the configuration must set it */
    const char *key_header;   /* the header with the key; NULL: Authorization, as a bearer token */
    const char *model_prefix; /* before the server's name of a model without a slash; NULL: none */
    enum llm_format_kind format;
    bool is_open;           /* accepts recent additions to OpenAI's own API: prompt_cache_key, … */
    bool takes_litellm;     /* cache_control, thinking_blocks */
    bool takes_cache_marks; /* for models that take them */
    bool has_chat;          /* Gemini: a compatible endpoint besides its own format */
    bool has_responses;     /* OpenAI's Responses, too, for models that are known to take it */
    bool has_deployments;  /* Azure: the model is in the path, and the API's version in the query */
    bool takes_signatures; /* of thoughts, with the calls of its models: Google */
    bool has_version_path; /* /v1 is appended to a base URL without it */
};

struct llm_route {
    const struct route_provider *provider; /* static storage */
    enum llm_format_kind format;           /* the provider's, or another that it speaks, too */
    char *model;                           /* the server's name for it */
    char *url;                             /* of the endpoint; NULL for scripted */
    char *region;                          /* of AWS; NULL: none is known */
};

/* clang-format off */
#define LLM_ROUTE_INIT {NULL, LLM_FORMAT_NONE, NULL, NULL, NULL}
/* clang-format on */

void llm_route_done(struct llm_route *route);
/*
 * The route of an LLM object's model (llm_request.spec), with the format that its api_mode,
 * capability_overrides and the catalogue choose. Fails as llm_route_find().
 */
int llm_route_choose(const struct catalogue *catalogue, const json_t *spec,
                     struct llm_route *route_out, struct llm_error *llm_error) NONNULL MUST_CHECK;
/* With the provider's own format. base_url may be NULL. Fails with cause UNSUPPORTED or BAD_REQUEST
 * and a message for the user. */
int llm_route_find(const char *model, const char *base_url, struct llm_route *route_out,
                   struct llm_error *llm_error) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* Adds to the detail of a failure what the user can do about it, where the provider's words do not
 * say so: Azure's "Resource not found". */
void llm_route_explain(const struct llm_route *route, struct llm_error *llm_error) NONNULL;

#endif
