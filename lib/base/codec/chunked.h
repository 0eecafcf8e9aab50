/*
 * HTTP/1.1 bodies with chunked transfer coding: extracts the data, for input in pieces of any size
 * (RFC 9112, section 7.1). Trailers are skipped.
 *
 * Limits: 8 KiB between two pieces of data, and after the last one, for all trailers together.
 *
 * Memory: constant. Threading: no state but the struct.
 * Decision: docs/decisions/0069-codecs.md
 */
#ifndef DEFT_BASE_CODEC_CHUNKED_H
#define DEFT_BASE_CODEC_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

enum chunked_state {
    CHUNKED_SIZE,      /* hexadecimal digits */
    CHUNKED_EXTENSION, /* up to the end of the size line */
    CHUNKED_DATA,
    CHUNKED_DATA_END, /* the line end after the data */
    CHUNKED_TRAILER,  /* lines up to an empty one */
    CHUNKED_OVER,
};

struct chunked {
    enum chunked_state state;
    int64_t left; /* of the chunk */
    int n_digits;
    size_t n_line;    /* characters in the current line */
    size_t n_framing; /* bytes since the last data: sizes, extensions, line ends, trailers */
};

/* Received bytes; chunked_next() advances the pointer. */
struct chunked_input {
    const char *bytes;
    size_t len;
};

/*
 * Returns the next piece of data in the input; *len_out = 0 when the input is used up or the body
 * has ended (state CHUNKED_OVER). ERROR_INVALID for a malformed body.
 */
int chunked_next(struct chunked *chunked, struct chunked_input *input, const char **data_out,
                 size_t *len_out, struct error *err) NONNULL MUST_CHECK;

#endif
