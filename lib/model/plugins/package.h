/*
 * What lies in a folder that was fetched: a skill, a plugin with its skills and commands, a market
 * place. The folder is a list of {"path", "size_bytes", "text" (of small texts)}.
 *
 * Threading: no state. Ownership: new references.
 */
#ifndef DEFT_MODEL_PLUGINS_PACKAGE_H
#define DEFT_MODEL_PLUGINS_PACKAGE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct error;

/* A folder of the sandbox, and what is in it. */
struct package_folder {
    const char *path; /* absolute, in the sandbox */
    const json_t *files;
};

/* True for words of lower-case letters and digits, with single dashes between them. */
bool package_is_name(const char *name) NONNULL MUST_CHECK;

/*
 * The skill of a folder: {"name", "version", "description", "skills": [one as the API shows it]}.
 * ERROR_INVALID in words when it is none.
 */
int package_read_skill(const struct package_folder *folder, json_t **package_out,
                       struct error *err) NONNULL MUST_CHECK;
/*
 * The plugin of a folder: {"name", "version", "description", "manifest", "skills", "commands",
 * "files"}; the last two are lists of names. ERROR_INVALID in words when it is none.
 */
int package_read_plugin(const struct package_folder *folder, json_t **package_out,
                        struct error *err) NONNULL MUST_CHECK;
/* The skills below a folder within ("" is the folder itself), in any of the places where
 * repositories keep them; as the API shows them. */
json_t *package_read_skills(const struct package_folder *folder,
                            const char *below) NONNULL MUST_CHECK;
/* The market place of a folder: a list of {"name", "source", …}, or NULL where there is none. */
json_t *package_read_market(const struct package_folder *folder, const char *path)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
