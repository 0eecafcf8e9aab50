/*
 * Switches the model of a conversation that has begun.
 */
#ifndef DEFT_MODEL_CONVERSATION_LLM_SWITCH_H
#define DEFT_MODEL_CONVERSATION_LLM_SWITCH_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;

/*
 * Replaces the agent's LLM object by llm (from llm_spec_read(), with its secrets); also the
 * condenser's, if it was the same. Changes conversation->spec and secrets (the opened JSON, an
 * object); the caller seals and stores both.
 */
void conversation_switch_llm(struct conversation *conversation, json_t *secrets,
                             json_t *llm) NONNULL;

#endif
