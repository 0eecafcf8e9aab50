/*
 * Skills as files: what a text in a skills folder, or a memory file of a repository, says.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_SKILL_FILE_H
#define DEFT_MODEL_PLUGINS_SKILL_FILE_H

#include <jansson.h>

#include "base/attr.h"

/* How a file is to be read. */
enum skill_form {
    SKILL_FOLDER, /* <name>/SKILL.md */
    SKILL_FILE,   /* <name>.md, with or without words that call for it */
    SKILL_MEMORY, /* AGENTS.md and its like: for every conversation in that repository */
};

/*
 * The skill of a file as the API shows it ({"name","type","content","triggers","source",
 * "description","is_agentskills_format","disable_model_invocation"}); NULL when the file is none,
 * or no UTF-8 text. A new reference.
 */
json_t *skill_from_file(enum skill_form form, const char *path,
                        const char *text) NONNULL MUST_CHECK;
/* A definition of a sub-agent, as the API shows it; NULL when the file is none. A new reference. */
json_t *sub_agent_from_file(const char *path, const char *text,
                            const char *level) NONNULL MUST_CHECK;

#endif
