/*
 * Lines and words of a Dockerfile: white space, lines that continue, quotes. Where builders differ,
 * a text is read as any of them might.
 *
 * Ownership: texts are borrowed.
 * Threading: no state.
 */
#ifndef DEFT_RUNTIME_BUILD_DOCKERFILE_TEXT_H
#define DEFT_RUNTIME_BUILD_DOCKERFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;
struct strbuf;

/* Separators of words, and trailing characters that builders strip from lines. */
#define DOCKERFILE_BLANKS " \t\v\f\r"

struct dockerfile_text {
    const char *end;
    char escape;     /* at the end of a line that continues */
    size_t n_joined; /* bytes so far */
};

/* Past the white space at `at`, Unicode's included. */
const char *dockerfile_skip_blanks(const char *at, const char *end) NONNULL MUST_CHECK;
/* The newline that ends the line at `at`, or the end. */
const char *dockerfile_line_end(const char *at, const char *end) NONNULL MUST_CHECK;
/* Joins the instruction that begins at a line with its possible continuation lines. ERROR_INVALID
 * if it, or all joined lines, are too long. */
int dockerfile_join(struct dockerfile_text *text, const char *at, struct strbuf *out,
                    struct error *err) NONNULL MUST_CHECK;
/* Reads the next word; false at the end. */
bool dockerfile_next_word(const char **at, struct strbuf *word) NONNULL;
/* Appends a text without quotes. */
void dockerfile_append_plain(struct strbuf *out, const char *text, size_t len) NONNULL;
/* Removes quotes, as builders do from flags. */
void dockerfile_unquote(struct strbuf *word) NONNULL;

#endif
