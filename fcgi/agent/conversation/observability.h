/*
 * A client's tracing options for a new conversation, from the body or from headers.
 *
 * Ownership: changes the caller's body in place.
 * Threading: no state.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_OBSERVABILITY_H
#define DEFT_FCGI_AGENT_CONVERSATION_OBSERVABILITY_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/*
 * Adds values of the X-OpenHands-Observability-… headers that the body leaves out. ERROR_INVALID
 * (noted) when the metadata is not a JSON object, or a span's name is invalid.
 */
int observability_fill(const struct request *request, json_t *body,
                       struct error *err) NONNULL MUST_CHECK;

#endif
