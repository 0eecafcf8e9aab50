/*
 * What a client says of its tracing when it starts a conversation, in the body or by headers.
 *
 * Ownership: changes the caller's body in place.
 * Threading: none of its own.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_OBSERVABILITY_H
#define DEFT_FCGI_AGENT_CONVERSATION_OBSERVABILITY_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/*
 * Puts in what the headers X-OpenHands-Observability-… say and the body leaves out. ERROR_INVALID
 * (noted) when the metadata is no JSON object, or a span's name is none.
 */
int observability_fill(const struct request *request, json_t *body,
                       struct error *err) NONNULL MUST_CHECK;

#endif
