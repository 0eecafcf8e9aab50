/*
 * The member "action_ids" of requests that may run calls of the agent: those that the client saw
 * waiting.
 * Decision: docs/decisions/0034-confirmation.md
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_SEEN_CALLS_H
#define DEFT_FCGI_AGENT_CONVERSATION_SEEN_CALLS_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct request;
struct seen_calls;

/* Reads the member; seen->ids borrows from body, and stays NULL where it is absent or null. */
int seen_calls_read(const struct request *request, json_t *body, struct seen_calls *seen,
                    struct error *err) NONNULL MUST_CHECK;

#endif
