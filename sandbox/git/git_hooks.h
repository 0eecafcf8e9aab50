/*
 * A repository's hook that runs its `.openhands/pre-commit.sh` before each commit.
 *
 * Blocks: only in forks.
 */
#ifndef DEFT_SANDBOX_GIT_GIT_HOOKS_H
#define DEFT_SANDBOX_GIT_GIT_HOOKS_H

#include <stdbool.h>

#include "base/attr.h"

struct error;

/*
 * Installs it if the repository at `path` has such a script; *installed_out says whether it has
 * one. An existing foreign hook is moved to pre-commit.local and called before the script.
 * ERROR_INVALID for no repository, ERROR_CONFLICT when there is a pre-commit.local already,
 * ERROR_UNAVAILABLE.
 */
int git_hooks_install(const char *path, bool *installed_out, struct error *err) NONNULL MUST_CHECK;

#endif
