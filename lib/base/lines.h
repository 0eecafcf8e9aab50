/*
 * Lines of a stream, whose bytes come in pieces: each byte is looked at once, however many pieces a
 * line comes in.
 *
 * Ownership: lines_done() releases what is held.
 * Threading: one thread.
 */
#ifndef DEFT_BASE_LINES_H
#define DEFT_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct lines {
    struct strbuf bytes; /* those that were not given yet */
    size_t n_searched;   /* of them: no end of a line there */
};

/* clang-format off */
#define LINES_INIT {STRBUF_INIT, 0}
/* clang-format on */

/* NULL and fresh ones are fine. The struct can be used again. */
void lines_done(struct lines *lines);
void lines_add(struct lines *lines, const char *bytes, size_t len) NONNULL;
/* Moves the next line, without its end, to `line`, which is emptied first; false when none is whole
 * yet: then `line` is as it was. */
bool lines_next(struct lines *lines, struct strbuf *line) NONNULL MUST_CHECK;
/* The bytes that wait for the end of their line, once lines_next() says false. */
size_t lines_pending(const struct lines *lines) NONNULL MUST_CHECK;

#endif
