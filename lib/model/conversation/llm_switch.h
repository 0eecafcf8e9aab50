/*
 * Switches the model, or the security analyzer, of a conversation that has begun.
 */
#ifndef DEFT_MODEL_CONVERSATION_LLM_SWITCH_H
#define DEFT_MODEL_CONVERSATION_LLM_SWITCH_H

#include <stdbool.h>

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
/*
 * Replaces the security analyzer by one from analyzer_read(), with its secrets. Changes
 * conversation->spec and secrets, as above. False if it was the same, and nothing has changed.
 */
bool conversation_switch_analyzer(struct conversation *conversation, json_t *secrets,
                                  json_t *analyzer) NONNULL MUST_CHECK;

#endif
