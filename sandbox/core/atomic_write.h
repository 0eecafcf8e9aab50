/*
 * Atomic replacement of a file: written to a temporary file in the same directory and renamed, so
 * that a reader, or a crash, sees the old bytes or the new ones. Symlinks are followed; an existing
 * file's mode and owner are kept.
 */
#ifndef DEFT_SANDBOX_CORE_REPLACE_H
#define DEFT_SANDBOX_CORE_REPLACE_H

#include "base/attr.h"
#include "base/error.h"

struct replace {
    int fd;     /* to write to */
    char *path; /* target path, symlinks resolved */
    char *temporary;
};

/* clang-format off */
#define REPLACE_INIT {-1, NULL, NULL}
/* clang-format on */

/* Maps errno of a path that could not be written: the caller's fault, or the file system's. */
enum error_code replace_error_code(void) MUST_CHECK;
/*
 * Opens the temporary file. The directory must exist. ERROR_UNAVAILABLE, ERROR_FORBIDDEN, or
 * ERROR_INVALID for an invalid file name.
 */
int replace_begin(struct replace *replace, const char *path, struct error *err) NONNULL MUST_CHECK;
/* Syncs the file and renames it to its target. */
int replace_commit(struct replace *replace, struct error *err) NONNULL MUST_CHECK;
/* Removes an uncommitted file; NULL and an unused one are allowed. */
void replace_done(struct replace *replace);

#endif
