/*
 * A client's tracing options for a new conversation, from headers. They are checked, and stored
 * nowhere: deft traces nothing.
 *
 * Threading: no state.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_TRACING_HEADERS_H
#define DEFT_FCGI_AGENT_CONVERSATION_TRACING_HEADERS_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;

/*
 * Reads span name and metadata from the X-OpenHands-Observability-… headers, where the body leaves
 * them out, into an object of the body's members. A new reference. ERROR_INVALID (noted) when the
 * metadata is not a JSON object.
 */
int tracing_headers_read(const struct request *request, const json_t *body, json_t **tracing_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
