/*
 * Where a project's repository is, and what to tell an agent of it. Reads files only: an image may
 * lack git.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_FILES_PROJECT_ROOTS_H
#define DEFT_SANDBOX_FILES_PROJECT_ROOTS_H

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* Appends the nearest folder at or above this one that contains a .git; nothing if none does. */
void project_root_find(const char *folder, struct strbuf *root) NONNULL;
/* Appends the only folder directly in this one that contains a .git; nothing if there are none or
 * several, or if this one contains a .git. */
void project_clone_find(const char *folder, struct strbuf *clone) NONNULL;
/*
 * Returns {"repository", "branch", "commit", "system", "image", "egress", "ports"}: of the clone in
 * the folder, or the folder's repository; a detached HEAD has a commit and no branch. egress as in
 * base/sandbox_variables.h; ports "12000, 12001", those that users can open. Unknown members are
 * absent. A new reference.
 */
json_t *project_summary(const char *folder) NONNULL MUST_CHECK;

#endif
