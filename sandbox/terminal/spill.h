/*
 * Where output goes that is too long to be told: a file of its own in a folder, whole up to a
 * bound, called by what is in it. The oldest of many go.
 *
 * Ownership: spill_end() or spill_free() ends one. Threading: one thread; writes are to a file.
 */
#ifndef DEFT_SANDBOX_TERMINAL_SPILL_H
#define DEFT_SANDBOX_TERMINAL_SPILL_H

#include <stddef.h>

#include "base/attr.h"

struct spill;
struct strbuf;

/* Begins a file; NULL where none can be made, which is nobody's failure. */
struct spill *spill_begin(const char *folder) NONNULL MUST_CHECK;
/* What does not fit, or cannot be written, is left out. */
void spill_write(struct spill *spill, const char *text, size_t len) NONNULL;
/* Gives it its name, which is appended with the folder; nothing is where that failed. */
void spill_end(struct spill *spill, struct strbuf *path_out) NONNULL;
/* Ends it without a file; NULL is fine. */
void spill_free(struct spill *spill);

#endif
