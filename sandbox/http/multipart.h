/*
 * The parts of a multipart/form-data body, as it arrives in pieces of any size (RFC 7578, RFC 2046
 * section 5.1). Finds one field and hands its bytes on; others are skipped.
 *
 * Memory is bounded whatever arrives.
 */
#ifndef DEFT_SANDBOX_HTTP_MULTIPART_H
#define DEFT_SANDBOX_HTTP_MULTIPART_H

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
    const char *field;      /* the wanted one; borrowed */
    struct strbuf pending;  /* what may be part of a delimiter, or half a header */
    size_t n_searched;      /* bytes of a part's headers that do not end them */
    struct strbuf filename; /* what the field says of itself */
    bool found;
};

/* Where the field's bytes go. */
struct multipart_target {
    void *state;
    int (*take)(void *state, const char *bytes, size_t len, struct error *err);
};

/* ERROR_INVALID when the content type is no multipart/form-data with a boundary. */
int multipart_init(struct multipart *multipart, const char *content_type, const char *field,
                   struct error *err) NONNULL MUST_CHECK;
void multipart_done(struct multipart *multipart);
/* ERROR_INVALID for a body that is none; the target's errors are passed on. */
int multipart_feed(struct multipart *multipart, const char *bytes, size_t len,
                   const struct multipart_target *target, struct error *err) NONNULL MUST_CHECK;
/* True when the body ended as it should and had the field. */
bool multipart_is_complete(const struct multipart *multipart) NONNULL MUST_CHECK;

#endif
