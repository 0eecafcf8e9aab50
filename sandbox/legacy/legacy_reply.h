/*
 * Observations and failures of the older action API, in their wire format.
 * Source: docs/api/action-execution.md
 */
#ifndef DEFT_SANDBOX_LEGACY_LEGACY_REPLY_H
#define DEFT_SANDBOX_LEGACY_LEGACY_REPLY_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct server_request;

/*
 * An observation of that type; takes `extras` over, whose `path` or `command` the message mentions.
 */
json_t *legacy_reply(const char *type, const char *content, size_t len,
                     json_t *extras) NONNULL MUST_CHECK;
/* An error observation: for the model to read, not a failure of the call. */
json_t *legacy_reply_error(const char *content) NONNULL MUST_CHECK;
/* The observation of a run action with those arguments; terminal: a TerminalObservation. */
json_t *legacy_reply_run(const json_t *args, const json_t *terminal) NONNULL MUST_CHECK;
/* 500 {"detail": "Internal server error: …"} */
void legacy_reply_answer_failure(struct server_request *request, const char *why) NONNULL;
/* 422 for a malformed body. */
void legacy_reply_answer_invalid(struct server_request *request, const char *why) NONNULL;

#endif
