/*
 * The folder of a path below a workspace, whose programs may replace folders by links at any time:
 * each folder is opened in the one before it, and none through a link.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_PARENT_FOLDER_H
#define DEFT_SANDBOX_CHECKPOINT_PARENT_FOLDER_H

#include "base/attr.h"

enum parent_need { PARENT_EXISTS, PARENT_IS_MADE };

/*
 * Opens the folder of a relative path without "..". root: the workspace. *name_out is the last part
 * of the path. Returns a descriptor for the caller to close, or -1 with errno, ELOOP and ENOTDIR
 * for a link.
 */
int parent_folder_open(int root, const char *path, enum parent_need need,
                       const char **name_out) NONNULL MUST_CHECK;

#endif
