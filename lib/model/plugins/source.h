/*
 * Where skills and plugins come from, in the words of users: "github:owner/name", the address of a
 * repository or of a folder on a forge's page, a path in the sandbox.
 *
 * Ownership: source_done().
 * Threading: no state.
 */
#ifndef DEFT_MODEL_PLUGINS_SOURCE_H
#define DEFT_MODEL_PLUGINS_SOURCE_H

#include "base/attr.h"

struct error;

struct source {
    char *address;   /* for git, without credentials; or an absolute path */
    char *ref;       /* NULL: what the repository has as its HEAD */
    char *repo_path; /* within; NULL: all of it */
    char *username;  /* of the address; NULL: none */
    char *password;
};

/* clang-format off */
#define SOURCE_INIT {NULL, NULL, NULL, NULL, NULL}
/* clang-format on */

void source_done(struct source *source);
/*
 * Reads what a user wrote; ref and repo_path, where they are given (not NULL, not ""), win over
 * what the text says. ERROR_INVALID in words.
 */
int source_read(const char *text, const char *ref, const char *repo_path, struct source *source_out,
                struct error *err) __attribute__((nonnull(1, 4, 5))) MUST_CHECK;

#endif
