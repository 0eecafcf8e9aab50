/*
 * A conversation's folder: created if missing, and a git repository from the start, so that clients
 * can show what has changed in it.
 *
 * Threading: no state but the files.
 */
#ifndef DEFT_SANDBOX_GIT_WORKSPACE_REPOSITORY_H
#define DEFT_SANDBOX_GIT_WORKSPACE_REPOSITORY_H

#include "base/attr.h"
#include "base/error.h"

/*
 * Creates the folder, an absolute path, with its parents. ERROR_INVALID when one of them is not a
 * directory, else the reason for the failure.
 */
int workspace_repository_make_folder(const char *folder, struct error *err) NONNULL MUST_CHECK;
/*
 * Creates an empty repository in the existing folder, unless it is inside one already. Does not
 * need git.
 */
int workspace_repository_init(const char *folder, struct error *err) NONNULL MUST_CHECK;

#endif
