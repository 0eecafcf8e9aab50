/*
 * Third stage of a start: validates the expanded request as a whole, and its limits.
 *
 * Ownership: start_plan_done() releases a plan; `sender` is borrowed from the request.
 * Threading: no state.
 */
#ifndef DEFT_START_START_VALIDATE_H
#define DEFT_START_START_VALIDATE_H

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"
#include "model/conversation/conversation.h"

struct error;
struct start_context;
struct start_request;

/* A conversation that is about to be stored. */
struct start_plan {
    struct conversation conversation;
    struct secret secrets; /* to be sealed for it */
    json_t *content;       /* of the initial message; NULL when there is none */
    const char *sender;    /* of that message; NULL: not given */
};

/* clang-format off */
#define START_PLAN_INIT {.conversation = CONVERSATION_INIT, .secrets = SECRET_INIT}
/* clang-format on */

void start_plan_done(struct start_plan *plan);

/*
 * Reads the request into a plan. ERROR_INVALID, noted: a member is invalid, or the container is
 * larger or smaller than this server allows. The runtime rejects such containers, too, but only
 * when the conversation runs.
 */
int start_validate(const struct start_context *context, const struct start_request *request,
                   struct start_plan *plan_out, struct error *err) NONNULL MUST_CHECK;

#endif
