/*
 * Splits a stream that arrives in pieces into lines: each byte is examined once, however many
 * pieces a line comes in.
 *
 * Ownership: lines_done() releases the buffer.
 * Threading: one thread.
 * Decision: docs/decisions/0049-linear-time.md
 */
#ifndef DEFT_BASE_LINES_H
#define DEFT_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct lines {
    struct strbuf bytes; /* not returned yet */
    size_t n_searched;   /* of these, known to contain no line end */
};

/* clang-format off */
#define LINES_INIT {STRBUF_INIT, 0}
/* clang-format on */

/* NULL and a fresh struct are fine. The struct can be used again. */
void lines_done(struct lines *lines);
void lines_add(struct lines *lines, const char *bytes, size_t len) NONNULL;
/*
 * Moves the next line, without its end, to `line`, whose content is replaced; false when no line is
 * complete: then `line` is unchanged.
 */
bool lines_next(struct lines *lines, struct strbuf *line) NONNULL MUST_CHECK;
/* Bytes of the incomplete last line, once lines_next() has returned false. */
size_t lines_pending(const struct lines *lines) NONNULL MUST_CHECK;

#endif
