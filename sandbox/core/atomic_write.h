/*
 * Atomic replacement of a file: written to a temporary file in the same directory and renamed, so
 * that a reader, or a crash, sees the old bytes or the new ones. Symlinks are followed; an existing
 * file's mode and owner are kept.
 */
#ifndef DEFT_SANDBOX_CORE_ATOMIC_WRITE_H
#define DEFT_SANDBOX_CORE_ATOMIC_WRITE_H

#include "base/attr.h"
#include "base/error.h"

struct atomic_write {
    int fd;     /* to write to */
    char *path; /* target path, symlinks resolved */
    char *temporary;
};

/* clang-format off */
#define ATOMIC_WRITE_INIT {-1, NULL, NULL}
/* clang-format on */

/* Maps errno of a path that could not be written: the caller's fault, or the file system's. */
enum error_code atomic_write_error_code(void) MUST_CHECK;
/*
 * Opens the temporary file. The directory must exist. ERROR_UNAVAILABLE, ERROR_FORBIDDEN, or
 * ERROR_INVALID for an invalid file name.
 */
int atomic_write_begin(struct atomic_write *file, const char *path,
                       struct error *err) NONNULL MUST_CHECK;
/* Syncs the file and renames it to its target. */
int atomic_write_commit(struct atomic_write *file, struct error *err) NONNULL MUST_CHECK;
/* Removes an uncommitted file; NULL and an unused one are allowed. */
void atomic_write_done(struct atomic_write *file);

#endif
