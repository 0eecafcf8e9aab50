/*
 * What a reading of the workspace changes in a conversation besides its event
 * (project_knowledge.h): which skills and rules the model has not read as they are now, and hooks.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_PROMPT_KNOWLEDGE_CHANGE_H
#define DEFT_MODEL_PROMPT_KNOWLEDGE_CHANGE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

/*
 * Removes from a list of names, activated skills or rules, those of found skills (PROJECT_SKILLS)
 * whose text is another one now, or that are gone: they can be activated again. names: a list, or
 * NULL.
 */
void knowledge_change_forget(json_t *names, const json_t *before, const json_t *found)
    __attribute__((nonnull(3)));
/*
 * Sets the specification's hook_config to the workspace's; hooks: NULL if it has none, or none that
 * counts: then those of an earlier reading end, and the creator's stay. True if it has changed.
 */
bool knowledge_change_hooks(json_t *spec, const json_t *hooks)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
