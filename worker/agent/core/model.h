/*
 * Which model a conversation uses, and which API key.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_MODEL_H
#define DEFT_WORKER_AGENT_CORE_MODEL_H

#include <jansson.h>

#include "base/attr.h"
#include "client/address_filter.h"

struct conversation;
struct secret;
struct worker_context;

struct model_choice {
    json_t *spec;             /* the LLM object for the request */
    const struct secret *key; /* borrowed; NULL: none */
    enum address_owner address_of;
};

/* clang-format off */
#define MODEL_CHOICE_INIT {NULL, NULL, ADDRESS_UNSTATED}
/* clang-format on */

void model_choice_done(struct model_choice *choice) NONNULL;
/*
 * Chooses the conversation's own model and key. The server's key and address are used only if the
 * conversation names the server's model or none, and has neither a key nor an address of its own:
 * so the server's key is never sent to a user's address. The server's own address counts as the
 * administrator's, whoever names it.
 */
void model_choose(const struct worker_context *context, const struct conversation *conversation,
                  json_t *spec, const struct secret *key, struct model_choice *choice_out) NONNULL;
/* The supplier of the addresses in a conversation's specification. */
enum address_owner model_address_owner(const struct conversation *conversation) NONNULL MUST_CHECK;

#endif
