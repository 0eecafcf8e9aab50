/*
 * Reads a fetched folder: a skill, a plugin with its skills and commands, or a marketplace. The
 * folder is a list of {"path", "size_bytes", "text" (of small texts)}.
 *
 * Threading: no state. Ownership: new references.
 */
#ifndef DEFT_MODEL_PLUGINS_PLUGIN_FOLDER_H
#define DEFT_MODEL_PLUGINS_PLUGIN_FOLDER_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

/* A folder of the sandbox and its files. */
struct plugin_folder {
    const char *path; /* absolute, in the sandbox */
    const json_t *files;
};

/* True for lower-case letters and digits, with single dashes in between. */
bool plugin_name_is_valid(const char *name) NONNULL MUST_CHECK;

/*
 * Reads the skill in a folder: {"name", "version", "description", "skills": [one, as in the API]}.
 * ERROR_INVALID with the reason if there is none.
 */
int plugin_folder_read_skill(const struct plugin_folder *folder, json_t **package_out,
                             struct error *err) NONNULL MUST_CHECK;
/*
 * Reads the plugin in a folder: {"name", "version", "description", "manifest", "skills",
 * "commands", "files"}; the last two are lists of names. ERROR_INVALID with the reason if there is
 * none.
 */
int plugin_folder_read_plugin(const struct plugin_folder *folder, json_t **package_out,
                              struct error *err) NONNULL MUST_CHECK;
/* Reads the skills below a subfolder ("": the folder itself), in all places where repositories keep
 * them, in the API's form. A new reference. */
json_t *plugin_folder_read_skills(const struct plugin_folder *folder,
                                  const char *below) NONNULL MUST_CHECK;
/* Reads the marketplace of a folder: a list of {"name", "source", …}, or NULL if there is none. */
json_t *plugin_folder_read_market(const struct plugin_folder *folder, const char *path)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
