/*
 * The system prompt: deft's own text, made of sections, from the conversation's specification.
 */
#ifndef DEFT_MODEL_PROMPT_PROMPT_H
#define DEFT_MODEL_PROMPT_PROMPT_H

#include "base/attr.h"

struct conversation;
struct strbuf;

/* Appends the prompt; agent.system_prompt replaces it, agent.persona replaces its first sections.
 */
void prompt_append(const struct conversation *conversation, struct strbuf *out) NONNULL;

/* Appends what concerns this conversation alone (SystemPromptEvent.dynamic_context): repository
 * texts, the creator's own words, names of secrets, the date. Nothing when there is nothing. */
void prompt_append_context(const struct conversation *conversation, struct strbuf *out) NONNULL;

#endif
