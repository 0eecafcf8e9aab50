/*
 * Growable text. The content always ends in a NUL that `len` does not count; it may contain NULs
 * when bytes are appended.
 *
 * Ownership: the caller owns the struct; strbuf_done() releases its memory.
 * Threading: one thread at a time.
 * Decision: docs/decisions/0064-strbuf.md
 */
#ifndef DEFT_BASE_STRBUF_H
#define DEFT_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

struct strbuf {
    char *text; /* "" in a fresh one; never NULL */
    size_t len;
    size_t size; /* allocated bytes from text on; 0 while text is the shared empty one */
    size_t head; /* allocated bytes before text, left by removals */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): never written */
extern char strbuf_empty[1];
/* clang-format off */
#define STRBUF_INIT {strbuf_empty, 0, 0, 0}
/* clang-format on */

/* Releases the memory; NULL and a fresh one are fine. The struct can be used again. */
void strbuf_done(struct strbuf *buf);
/* Clears the content, keeps the memory. */
void strbuf_reset(struct strbuf *buf) NONNULL;
/* Reserves room for `extra` more bytes without a further allocation. */
void strbuf_reserve(struct strbuf *buf, size_t extra) NONNULL;
void strbuf_append(struct strbuf *buf, const char *text) NONNULL;
void strbuf_append_bytes(struct strbuf *buf, const void *bytes, size_t len);
void strbuf_append_char(struct strbuf *buf, char c) NONNULL;
void strbuf_appendf(struct strbuf *buf, const char *format, ...) NONNULL PRINTF_LIKE(2, 3);
void strbuf_vappendf(struct strbuf *buf, const char *format, va_list args) NONNULL
    PRINTF_LIKE(2, 0);
/* Shortens to len bytes; a no-op when len is beyond the content. */
void strbuf_truncate(struct strbuf *buf, size_t len) NONNULL;
/* Removes the first n bytes, in amortized constant time however long the rest is. */
void strbuf_remove_head(struct strbuf *buf, size_t n) NONNULL;
/* Returns the text and leaves a fresh buffer. The caller frees with mem_free(). */
char *strbuf_take(struct strbuf *buf) NONNULL MUST_CHECK;

#endif
