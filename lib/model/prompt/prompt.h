/*
 * Builds the system prompt from the sections of the catalogue and the conversation's specification.
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

/* Appends the parts specific to the conversation (SystemPromptEvent.dynamic_context): repository
 * texts, the creator's suffix, names of secrets, the date. Appends nothing if there are none. */
void prompt_append_context(const struct catalogue *catalogue,
                           const struct conversation *conversation, struct strbuf *out) NONNULL;

#endif
