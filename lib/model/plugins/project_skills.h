/*
 * Where projects and users keep skills, and how those files are read: for POST /api/skills, and for
 * what a run knows of its project.
 *
 * Threading: pure.
 */
#ifndef DEFT_MODEL_PLUGINS_PROJECT_SKILLS_H
#define DEFT_MODEL_PLUGINS_PROJECT_SKILLS_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/plugins/project_files.h"

/* Values of file_place.form beyond enum skill_form: files that are no skills by themselves. */
enum { FORM_RULE = 100, FORM_MEMORY_INDEX, FORM_SOUL, FORM_HOOKS, FORM_SERVERS };

/* A later place replaces skills of an earlier one that have the same name. */
extern const struct file_place skill_places[];
extern const size_t skill_places_n;
/* The same, then memories, the agent's identity, hooks, MCP servers, and files of nested folders
 * (FORM_RULE). */
extern const size_t knowledge_places_n;
/* Those of them that name MCP servers (FORM_SERVERS). */
extern const struct file_place *const server_places;
extern const size_t server_places_n;

/*
 * Returns the skill of a file from one of skill_places, as skill_from_file_whole(), or NULL. Memory
 * files count in a repository only: those in a home are for other programs. A new reference.
 */
json_t *project_skill_read(const struct project_file *file,
                           const char **problem_out) NONNULL MUST_CHECK;

#endif
