/*
 * A client's tracing options for a new conversation, from headers.
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
 * Reads the X-OpenHands-Observability-… headers whose members the body leaves out into an object of
 * those members. A new reference. ERROR_INVALID (noted) when the metadata is not a JSON object.
 */
int tracing_headers_read(const struct request *request, const json_t *body, json_t **tracing_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
