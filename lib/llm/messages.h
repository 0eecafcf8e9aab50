/*
 * Inside of lib/llm: a conversation's messages in the form that one model takes.
 */
#ifndef DEFT_LLM_MESSAGES_H
#define DEFT_LLM_MESSAGES_H

#include <jansson.h>

#include "base/attr.h"

struct llm_request;
struct route;

/* A new array; the request's messages stay as they are. */
json_t *messages_for_chat(const struct llm_request *request, const struct route *route)
    NONNULL MUST_CHECK;

#endif
