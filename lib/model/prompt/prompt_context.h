/*
 * The system prompt's second half, specific to the conversation: texts of the repository, memories,
 * skills, the creator's suffix, names of secrets, the environment, the date.
 *
 * Threading: pure.
 * Decision: docs/decisions/0085-what-the-workspace-tells.md
 */
#ifndef DEFT_MODEL_PROMPT_PROMPT_CONTEXT_H
#define DEFT_MODEL_PROMPT_PROMPT_CONTEXT_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct conversation;
struct strbuf;

/* What a run found in the workspace. All pointers are borrowed. */
struct prompt_findings {
    json_t *skills;             /* name: skill, see project_knowledge.h */
    const json_t *environment;  /* "working_dir", "branch" and the like: texts */
    const char *soul;           /* NULL: none */
    const char *user_memory;    /* NULL: none */
    const char *project_memory; /* NULL: none */
    json_t *skipped;            /* appended to: {"path","reason"} of skills without room */
};

/*
 * Appends the context that is known when a conversation is created
 * (SystemPromptEvent.dynamic_context). Appends nothing if there is none.
 */
void prompt_append_context(const struct catalogue *catalogue,
                           const struct conversation *conversation, struct strbuf *out) NONNULL;
/* Appends the context with what was found, for the model to read instead of the other one. */
void prompt_append_found_context(const struct catalogue *catalogue,
                                 const struct conversation *conversation,
                                 const struct prompt_findings *findings,
                                 struct strbuf *out) NONNULL;
/* True if the agent's context disables the skill. */
bool prompt_skill_is_disabled(const struct conversation *conversation,
                              const char *skill) NONNULL MUST_CHECK;

#endif
