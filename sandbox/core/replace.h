/*
 * A file that is replaced as a whole: written beside its place and renamed over it, so that a
 * reader, or a crash, sees the old bytes or the new ones. Symlinks are followed; an existing file's
 * mode and owner are kept.
 */
#ifndef DEFT_SANDBOX_CORE_REPLACE_H
#define DEFT_SANDBOX_CORE_REPLACE_H

#include "base/attr.h"
#include "base/error.h"

struct replace {
    int fd;     /* to write to */
    char *path; /* the place, symlinks resolved */
    char *temporary;
};

/* clang-format off */
#define REPLACE_INIT {-1, NULL, NULL}
/* clang-format on */

/* What errno says of a path that could not be written: its own fault, or that of the file system.
 */
enum error_code replace_error_code(void) MUST_CHECK;
/*
 * Opens the temporary file. The directory must exist. ERROR_UNAVAILABLE, ERROR_FORBIDDEN,
 * ERROR_INVALID for a name that no file can have.
 */
int replace_begin(struct replace *replace, const char *path, struct error *err) NONNULL MUST_CHECK;
/* Syncs and puts the file in its place. */
int replace_commit(struct replace *replace, struct error *err) NONNULL MUST_CHECK;
/* Removes what was not committed; NULL and an unused one are fine. */
void replace_done(struct replace *replace);

#endif
