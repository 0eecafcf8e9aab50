/*
 * Prepares a repository in a folder of the workspace: cloned by the sandbox's git, on the requested
 * branch. The folder appears only when complete; an existing clone stays as it is.
 *
 * Blocks: only in forks. Ownership: the copy is the file system's.
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
    const char *folder; /* absolute; where the repository's folder is created */
    const char *name;   /* of that folder; NULL: the repository's; ".": `folder` itself */
    const char *branch; /* NULL: a new one, openhands-workspace-… */
    const struct credentials *credentials;
};

struct clone_result {
    bool was_there;
    struct strbuf path;
    struct strbuf problem; /* a failure that left the repository usable */
};

/* clang-format off */
#define CLONE_RESULT_INIT {false, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void clone_result_done(struct clone_result *result);
/*
 * ERROR_INVALID for an unusable order or with git's message; ERROR_CONFLICT when the folder holds
 * something else; ERROR_UNAVAILABLE.
 */
int clone_run(const struct clone_order *order, struct clone_result *result,
              struct error *err) NONNULL MUST_CHECK;

#endif
