/*
 * The form with which a client requests an image build: multipart/form-data (RFC 7578) with a file
 * `context`, a gzipped archive in base64, and text fields `target_image` and `tags`. Pure.
 *
 * Ownership: build_form_done() releases the result.
 */
#ifndef DEFT_RUNTIME_BUILD_BUILD_FORM_H
#define DEFT_RUNTIME_BUILD_BUILD_FORM_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

#define BUILD_TAGS_MAX 16

struct build_form {
    json_t *names; /* without duplicates, target_image first */
    struct strbuf context;
};

/* clang-format off */
#define BUILD_FORM_INIT {NULL, STRBUF_INIT}
/* clang-format on */

void build_form_done(struct build_form *form);
/* ERROR_INVALID if the body is not such a form. */
int build_form_read(const char *content_type, const struct strbuf *body,
                    struct build_form *form_out, struct error *err) NONNULL MUST_CHECK;
/* Receives an archive's unpacked bytes, piece by piece; -1 aborts. */
struct unpack_sink {
    int (*take)(void *owner, const unsigned char *bytes, size_t len, struct error *err);
    void *owner;
};

/*
 * ERROR_TOO_LARGE if the archive unpacks to more than max_bytes, ERROR_INVALID if it is not a gzip
 * archive; errors of `take` are passed on.
 */
int build_form_unpack(const struct strbuf *context, int64_t max_bytes,
                      const struct unpack_sink *sink, struct error *err) NONNULL MUST_CHECK;

/* As above, discarding the bytes. */
int build_form_check_context(const struct strbuf *context, int64_t max_bytes,
                             struct error *err) NONNULL MUST_CHECK;

#endif
