/*
 * Folders as a whole. Blocks: only in jobs.
 */
#ifndef DEFT_SANDBOX_CORE_FOLDER_H
#define DEFT_SANDBOX_CORE_FOLDER_H

#include "base/attr.h"

/* Removes a folder with all that is in it, as far as it can; links are not followed, and other file
 * systems not entered. */
void folder_remove(const char *path) NONNULL;

#endif
