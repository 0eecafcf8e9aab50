/*
 * Saves output that is too long to be shown: to a file in a folder, up to a limit, named after its
 * content. The oldest of too many files are removed.
 *
 * Ownership: spill_end() or spill_free() ends one. Threading: one thread; writes go to a file.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SPILL_H
#define DEFT_SANDBOX_TERMINAL_SPILL_H

#include <stddef.h>

#include "base/attr.h"

struct spill;
struct strbuf;

/* Begins a file; NULL where none can be created, which is not an error. */
struct spill *spill_begin(const char *folder) NONNULL MUST_CHECK;
/* Omits text that exceeds the limit or cannot be written. */
void spill_write(struct spill *spill, const char *text, size_t len) NONNULL;
/* Renames the file and appends its path; appends nothing on failure. */
void spill_end(struct spill *spill, struct strbuf *path_out) NONNULL;
/* Removes the file; NULL is allowed. */
void spill_free(struct spill *spill);

#endif
