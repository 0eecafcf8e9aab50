/*
 * What a client posts to have an image built: a form (multipart/form-data, RFC 7578) with a file
 * `context`, whose bytes are base64 text of a gzipped archive, and texts `target_image` and `tags`.
 * Pure.
 *
 * Ownership: build_form_done() releases what was read.
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
    json_t *names; /* without repeats, target_image first */
    struct strbuf context;
};

/* clang-format off */
#define BUILD_FORM_INIT {NULL, STRBUF_INIT}
/* clang-format on */

void build_form_done(struct build_form *form);
/* ERROR_INVALID for what is no such form. */
int build_form_read(const char *content_type, const struct strbuf *body,
                    struct build_form *form_out, struct error *err) NONNULL MUST_CHECK;
/* Hears what an archive unpacks to, piece by piece; -1 ends it. */
struct unpack_sink {
    int (*take)(void *owner, const unsigned char *bytes, size_t len, struct error *err);
    void *owner;
};

/*
 * ERROR_TOO_LARGE for an archive that unpacks to more than max_bytes, ERROR_INVALID for none, and
 * what `take` fails with.
 */
int build_form_unpack(const struct strbuf *context, int64_t max_bytes,
                      const struct unpack_sink *sink, struct error *err) NONNULL MUST_CHECK;

/* The same, and nobody hears it. */
int build_form_check_context(const struct strbuf *context, int64_t max_bytes,
                             struct error *err) NONNULL MUST_CHECK;

#endif
