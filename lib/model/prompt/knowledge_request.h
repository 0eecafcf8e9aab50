/*
 * A client's request that a run reads its workspace anew before its model's next call
 * (project_knowledge.h): the specification's member KNOWLEDGE_REQUESTS, hidden from clients, counts
 * the requests since the last reading. A reading ends those that were there when it began: the
 * files may have changed before a later one.
 *
 * Clients and runs in progress see a request by the ConversationStateUpdateEvent that is stored
 * with it: its key is PROJECT_KNOWLEDGE_KEY, its value {"project_knowledge_requested": true}.
 *
 * A hook's request is such an event alone, with "requested_by": "hook": it is stored with the event
 * of the hook's execution, belongs to its branch, and lasts until an event of a reading follows.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0107-readings-on-request.md
 */
#ifndef DEFT_MODEL_PROMPT_KNOWLEDGE_REQUEST_H
#define DEFT_MODEL_PROMPT_KNOWLEDGE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

/* Adds a request to a specification. */
void knowledge_request_add(json_t *spec) NONNULL;
/* How many wait for a reading; 0: none. */
int64_t knowledge_request_count(const json_t *spec) NONNULL MUST_CHECK;
/* Ends the first n requests. */
void knowledge_request_end(json_t *spec, int64_t n) NONNULL;
/* The value of the event that tells whether a reading is requested. A new reference. */
json_t *knowledge_request_event_value(bool is_requested) MUST_CHECK;
/* The value of the event that is a hook's request. A new reference. */
json_t *knowledge_request_hook_value(void) MUST_CHECK;
/* True for the body of an event that is a hook's request. */
bool knowledge_request_is_of_hook(const json_t *event) NONNULL MUST_CHECK;
/* True for the body of an event that ends the requests before it: of a reading, or without one. */
bool knowledge_request_is_ended_by(const json_t *event) NONNULL MUST_CHECK;
/* True for the body of an event that tells of a request. */
bool knowledge_request_is_told_by(const json_t *event) NONNULL MUST_CHECK;

#endif
