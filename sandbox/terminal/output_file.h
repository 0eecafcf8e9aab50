/*
 * Saves output that is too long to be shown: to a file in a folder, up to a limit, named after its
 * content. The oldest of too many files are removed.
 *
 * Ownership: output_file_end() or output_file_free() ends one. Threading: one thread; writes go to
 * a file.
 */
#ifndef DEFT_SANDBOX_TERMINAL_OUTPUT_FILE_H
#define DEFT_SANDBOX_TERMINAL_OUTPUT_FILE_H

#include <stddef.h>

#include "base/attr.h"

struct output_file;
struct strbuf;

/* Begins a file; NULL where none can be created, which is not an error. */
struct output_file *output_file_begin(const char *folder) NONNULL MUST_CHECK;
/* Omits text that exceeds the limit or cannot be written. */
void output_file_write(struct output_file *file, const char *text, size_t len) NONNULL;
/* Renames the file and appends its path; appends nothing on failure. */
void output_file_end(struct output_file *file, struct strbuf *path_out) NONNULL;
/* Removes the file; NULL is allowed. */
void output_file_free(struct output_file *file);

#endif
