/*
 * Another model for a conversation that has begun.
 */
#ifndef DEFT_MODEL_CONVERSATION_LLM_SWITCH_H
#define DEFT_MODEL_CONVERSATION_LLM_SWITCH_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;

/*
 * Puts an LLM object (llm_spec_read(), secrets inside) in the place of the agent's. The condenser's
 * follows when it was the same. conversation->spec and secrets (the opened JSON, an object) are
 * changed; the caller seals and stores both.
 */
void conversation_switch_llm(struct conversation *conversation, json_t *secrets,
                             json_t *llm) NONNULL;

#endif
