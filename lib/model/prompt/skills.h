/*
 * Skills: texts provided by the agent's creator or found in the workspace (project_knowledge.h),
 * activated by trigger words.
 */
#ifndef DEFT_MODEL_PROMPT_SKILLS_H
#define DEFT_MODEL_PROMPT_SKILLS_H

#include <jansson.h>

#include "base/attr.h"

struct catalogue;
struct conversation;

/* The skills that a user's message activates. Both arrays are owned by the struct. */
struct skill_texts {
    json_t *names; /* of the activated skills */
    json_t *parts; /* TextContent for the message's extended_content */
};

/* clang-format off */
#define SKILL_TEXTS_INIT {NULL, NULL}
/* clang-format on */

void skill_texts_done(struct skill_texts *texts);
/*
 * Gives the skills that have a keyword in the content's text, as a whole word and ignoring case,
 * except those in the specification's activated_knowledge_skills and those disabled; and the
 * user_message_suffix of the agent's context.
 */
void skills_for_message(const struct catalogue *catalogue, const struct conversation *conversation,
                        json_t *content, struct skill_texts *texts_out) NONNULL;
/* As above for skills just found, except those whose names are in the list `known`, and without the
 * suffix. */
void skills_found_for(const struct catalogue *catalogue, const struct conversation *conversation,
                      const json_t *found, const json_t *known, const json_t *content,
                      struct skill_texts *texts_out) NONNULL;

#endif
