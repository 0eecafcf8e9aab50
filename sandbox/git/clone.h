/*
 * A repository is made ready in a folder of the workspace: cloned by the sandbox's git, on the
 * branch that is wanted. It is there whole or not at all; where it is there already it stays as it
 * is.
 *
 * Blocks: only in jobs and errands. Ownership: the copy is the file system's.
 */
#ifndef DEFT_SANDBOX_GIT_CLONE_H
#define DEFT_SANDBOX_GIT_CLONE_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct credentials;
struct error;

struct clone_order {
    const char *url;
    const char *folder; /* absolute: where the repository's folder is made */
    const char *name;   /* of that; NULL: the repository's; ".": the folder itself */
    const char *branch; /* NULL: a new one, openhands-workspace-… */
    const struct credentials *credentials;
};

struct clone_result {
    bool was_there;
    struct strbuf path;
    struct strbuf problem; /* what did not work in a repository that is there nevertheless */
};

/* clang-format off */
#define CLONE_RESULT_INIT {false, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void clone_result_done(struct clone_result *result);
/* ERROR_INVALID for what cannot be meant, or in git's words; ERROR_CONFLICT when the folder holds
 * something else; ERROR_UNAVAILABLE. */
int clone_run(const struct clone_order *order, struct clone_result *result,
              struct error *err) NONNULL MUST_CHECK;

#endif
