/*
 * Parses where skills and plugins come from, as users write it: "github:owner/name", the URL of a
 * repository or of a folder on a forge's website, or a path in the sandbox.
 *
 * Ownership: plugin_source_done().
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_PLUGIN_SOURCE_H
#define DEFT_MODEL_PLUGINS_PLUGIN_SOURCE_H

#include "base/attr.h"

struct error;

struct plugin_source {
    char *address;   /* git URL without credentials, or an absolute path */
    char *ref;       /* NULL: the repository's HEAD */
    char *repo_path; /* within the repository; NULL: all of it */
    char *username;  /* from the URL; NULL: none */
    char *password;
};

/* clang-format off */
#define PLUGIN_SOURCE_INIT {NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

void plugin_source_done(struct plugin_source *source);
/*
 * Parses a user's text; ref and repo_path, if given (not NULL, not ""), take precedence over those
 * in the text. ERROR_INVALID with the reason.
 */
int plugin_source_read(const char *text, const char *ref, const char *repo_path,
                       struct plugin_source *source_out, struct error *err)
    __attribute__((nonnull(1, 4, 5))) MUST_CHECK;

#endif
