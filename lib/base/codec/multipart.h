/*
 * Parser for a multipart/form-data body that arrives in pieces of any size (RFC 7578, RFC 2046
 * section 5.1). Passes on the bytes of one field and skips the others, or passes on all parts.
 *
 * Memory: bounded for any input.
 */
#ifndef DEFT_BASE_CODEC_MULTIPART_H
#define DEFT_BASE_CODEC_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

enum multipart_state {
    MULTIPART_PREAMBLE,
    MULTIPART_AFTER_BOUNDARY,
    MULTIPART_HEADERS,
    MULTIPART_FIELD,
    MULTIPART_SKIPPED,
    MULTIPART_END,
};

struct multipart {
    enum multipart_state state;
    char delimiter[80]; /* CRLF -- boundary */
    size_t delimiter_len;
    const char *field;      /* name of the wanted one; borrowed. NULL: all parts */
    struct strbuf pending;  /* a possible part of a delimiter, or incomplete headers */
    size_t n_searched;      /* bytes of `pending` known to hold no end of the headers */
    struct strbuf filename; /* from the field's headers */
    bool found;
};

/* Receives the bytes of a field. */
struct multipart_target {
    void *state;
    /* With all parts: before and after the bytes of each. name: "" where the part has none. */
    int (*begin)(void *state, const char *name, struct error *err);
    int (*end)(void *state, struct error *err);
    int (*take)(void *state, const char *bytes, size_t len, struct error *err);
};

/* ERROR_INVALID unless the content type is multipart/form-data with a boundary. */
int multipart_init(struct multipart *multipart, const char *content_type, const char *field,
                   struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
void multipart_done(struct multipart *multipart);
/* ERROR_INVALID for a malformed body; the target's errors are passed on. */
int multipart_feed(struct multipart *multipart, const char *bytes, size_t len,
                   const struct multipart_target *target, struct error *err) NONNULL MUST_CHECK;
/* True when the body ended properly and contained the field, if there is a wanted one. */
bool multipart_is_complete(const struct multipart *multipart) NONNULL MUST_CHECK;

#endif
