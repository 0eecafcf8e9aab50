/*
 * Parses skill files: in a skills folder, or a memory file of a repository.
 *
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_SKILL_FILE_H
#define DEFT_MODEL_PLUGINS_SKILL_FILE_H

#include <jansson.h>

#include "base/attr.h"

/* The kind of a file. */
enum skill_form {
    SKILL_FOLDER, /* <name>/SKILL.md */
    SKILL_FILE,   /* <name>.md, with or without trigger words */
    SKILL_MEMORY, /* AGENTS.md and the like: for every conversation in the repository */
};

/*
 * Returns the skill of a file in the API's form ({"name","type","content","triggers","source",
 * "description","is_agentskills_format","disable_model_invocation"}); NULL if the file is not one,
 * or is not UTF-8. A new reference.
 */
json_t *skill_from_file(enum skill_form form, const char *path,
                        const char *text) NONNULL MUST_CHECK;
/*
 * As skill_from_file(), with "paths": the patterns of files for which the skill is a rule.
 * *problem_out: why a file that should be a skill is none; NULL if it need not be one.
 */
json_t *skill_from_file_whole(enum skill_form form, const char *path, const char *text,
                              const char **problem_out) NONNULL MUST_CHECK;
/* Returns a sub-agent definition in the API's form; NULL if it is not one. A new reference. */
json_t *sub_agent_from_file(const char *path, const char *text,
                            const char *level) NONNULL MUST_CHECK;

#endif
