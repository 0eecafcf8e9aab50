/*
 * A conversation's folder: made where it is missing, and a git repository from the start, so that
 * clients can show what has changed in it.
 *
 * Threading: pure but for the files.
 */
#ifndef DEFT_SANDBOX_GIT_REPOSITORY_H
#define DEFT_SANDBOX_GIT_REPOSITORY_H

#include "base/attr.h"
#include "base/error.h"

/*
 * Makes the folder, an absolute path, with those above it. ERROR_INVALID when one of them is no
 * directory, else the reason why it cannot be made.
 */
int repository_make_folder(const char *folder, struct error *err) NONNULL MUST_CHECK;
/*
 * Makes an empty repository in the folder, which is there, unless it stands in one already. No git
 * is needed for that.
 */
int repository_prepare(const char *folder, struct error *err) NONNULL MUST_CHECK;

#endif
