/*
 * Skills: texts that the agent's creator keeps ready, and the words that call for them.
 */
#ifndef DEFT_MODEL_PROMPT_SKILLS_H
#define DEFT_MODEL_PROMPT_SKILLS_H

#include <jansson.h>

#include "base/attr.h"

struct conversation;

/* What a user's message brings along. Both are arrays, and new references. */
struct skill_texts {
    json_t *names; /* of the skills that were called for */
    json_t *parts; /* TextContent for the message's extended_content */
};

/* clang-format off */
#define SKILL_TEXTS_INIT {NULL, NULL}
/* clang-format on */

void skill_texts_done(struct skill_texts *texts);
/*
 * The skills whose keyword stands in the content's text, case and all else but letters and digits
 * beside it aside, less those in the specification's activated_knowledge_skills; and the
 * user_message_suffix of the agent's context.
 */
void skills_for_message(const struct conversation *conversation, json_t *content,
                        struct skill_texts *texts_out) NONNULL;

#endif
