/*
 * Reads a query string ("a=1&b=%20c") item by item, percent-decoded, with '+' for a space. Decoded
 * parts may be any bytes, NUL included: callers check them.
 *
 * Ownership: a reader borrows its text.
 * Source: https://url.spec.whatwg.org/#urlencoded-parsing
 */
#ifndef DEFT_BASE_CODEC_QUERY_H
#define DEFT_BASE_CODEC_QUERY_H

#include <stdbool.h>

#include "base/attr.h"

struct strbuf;

struct query_reader {
    const char *at; /* what is left of the query */
};

/*
 * Appends the next item's name and value; items without any byte are skipped. False at the end of
 * the query.
 */
bool query_next(struct query_reader *reader, struct strbuf *name,
                struct strbuf *value) NONNULL MUST_CHECK;
/* Appends the value of the first item of that name; nothing when there is none. */
void query_append_value(const char *query, const char *name, struct strbuf *value) NONNULL;

#endif
