/*
 * Rules for files: skills found in the workspace that name paths. The first call that concerns such
 * a file brings the rule's text, once in a conversation.
 *
 * Threading: pure.
 * Decision:  docs/decisions/0085-what-the-workspace-tells.md
 */
#ifndef DEFT_MODEL_PROMPT_PATH_RULES_H
#define DEFT_MODEL_PROMPT_PATH_RULES_H

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct conversation;
struct skill_texts;

/*
 * Gives the names and texts of the rules for the file that a call's action names as its `path`,
 * except those in the conversation's agent_state, AGENT_STATE_PATH_RULES.
 */
void path_rules_for_call(const struct catalogue *catalogue, const struct conversation *conversation,
                         const json_t *action, struct skill_texts *texts_out)
    __attribute__((nonnull(1, 2, 4)));

#endif
