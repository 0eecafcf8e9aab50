/*
 * Builds the system prompt from the sections of the catalogue and the conversation's specification:
 * its first half, which is the same for all conversations of the same settings. The other half is
 * prompt_context.h.
 * Decision: docs/decisions/0002-system-prompt-in-model.md
 */
#ifndef DEFT_MODEL_PROMPT_PROMPT_H
#define DEFT_MODEL_PROMPT_PROMPT_H

#include "base/attr.h"

struct catalogue;
struct conversation;
struct strbuf;

/* Appends the prompt; agent.system_prompt replaces it, agent.persona replaces its first sections.
 */
void prompt_append(const struct catalogue *catalogue, const struct conversation *conversation,
                   struct strbuf *out) NONNULL;

#endif
