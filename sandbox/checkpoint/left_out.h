/*
 * Names that checkpoints leave out and restores leave alone: git's own folders, and folders that a
 * build or a package manager makes again.
 *
 * Threading: no state.
 */
#ifndef DEFT_SANDBOX_CHECKPOINT_LEFT_OUT_H
#define DEFT_SANDBOX_CHECKPOINT_LEFT_OUT_H

#include <stdbool.h>

#include "base/attr.h"

/* A .git is left out also as a file, as worktrees have it. */
bool left_out(const char *name, bool is_folder) NONNULL MUST_CHECK;

#endif
