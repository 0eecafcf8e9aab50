/*
 * Names that checkpoints leave out and restores leave alone: git's own folders, folders that a
 * build or a package manager makes again, and what a restore that was killed has left.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_LEFT_OUT_H
#define DEFT_SANDBOX_CHECKPOINT_LEFT_OUT_H

#include <stdbool.h>

#include "base/attr.h"

/* A file that a restore is writing. One that was killed leaves it, the next one replaces it. */
#define FRESH_FILE_NAME ".deft-checkpoint.new"

/* A .git is left out also as a file, as worktrees have it. */
bool left_out(const char *name, bool is_folder) NONNULL MUST_CHECK;

#endif
