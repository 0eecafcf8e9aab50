/*
 * Text files as an editor sees them: UTF-8 with \n, whatever the file uses. Encoding, byte order
 * mark, CRLF line ends, mode and owner are remembered and kept on write; writes are atomic.
 *
 * Ownership: the caller owns the struct; textfile_done() releases it.
 */
#ifndef DEFT_SANDBOX_CORE_TEXTFILE_H
#define DEFT_SANDBOX_CORE_TEXTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct textfile {
    struct strbuf text; /* valid UTF-8 */
    bool is_latin1;
    bool has_bom;
    bool has_crlf; /* all line ends are CRLF */
};

/* clang-format off */
#define TEXTFILE_INIT {STRBUF_INIT, false, false, false}
/* clang-format on */

void textfile_done(struct textfile *file);
/*
 * Reads a regular file. ERROR_NOT_FOUND, ERROR_TOO_LARGE (message gives the size),
 * ERROR_UNSUPPORTED when it is binary, ERROR_UNAVAILABLE.
 */
int textfile_read(const char *path, struct textfile *file, struct error *err) NONNULL MUST_CHECK;
/*
 * Writes the text in the file's encoding, through a temporary file in the same directory. Parents
 * must exist. ERROR_INVALID when a latin-1 file cannot hold a character.
 */
int textfile_write(const char *path, const struct textfile *file,
                   struct error *err) NONNULL MUST_CHECK;
/* Creates the parents of path. ERROR_INVALID when one is not a directory, ERROR_FORBIDDEN. */
int textfile_make_parents(const char *path, struct error *err) NONNULL MUST_CHECK;

#endif
