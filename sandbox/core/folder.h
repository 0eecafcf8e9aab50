/*
 * Operations on whole folders. Blocks: only in forks (fork_task.h, http/fork_request.h).
 */
#ifndef DEFT_SANDBOX_CORE_FOLDER_H
#define DEFT_SANDBOX_CORE_FOLDER_H

#include "base/attr.h"

/*
 * Removes a folder with its contents, as far as possible; links are not followed, and other file
 * systems not entered.
 */
void folder_remove(const char *path) NONNULL;

#endif
