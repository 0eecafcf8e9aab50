/*
 * Bodies of HTTP/1.1 that come in chunks: the bytes between the chunks' frames, whatever the pieces
 * in which they arrive (RFC 9112, section 7.1). Trailers are passed over.
 *
 * Memory: constant. Threading: no state but the struct.
 */
#ifndef DEFT_SANDBOX_HTTP_CHUNKED_H
#define DEFT_SANDBOX_HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

enum chunked_state {
    CHUNKED_SIZE,      /* hexadecimal digits */
    CHUNKED_EXTENSION, /* up to the end of the size's line */
    CHUNKED_DATA,
    CHUNKED_DATA_END, /* the line's end behind the data */
    CHUNKED_TRAILER,  /* lines up to an empty one */
    CHUNKED_OVER,
};

struct chunked {
    enum chunked_state state;
    int64_t left; /* of the chunk */
    int n_digits;
    size_t n_line; /* characters of the line so far */
};

/* Bytes that came; chunked_next() moves the pointer on. */
struct chunked_input {
    const char *bytes;
    size_t len;
};

/*
 * Gives the next piece of data in the input; *len_out = 0 when the input is used up or the body is
 * over (state CHUNKED_OVER). ERROR_INVALID for what is no such body.
 */
int chunked_next(struct chunked *chunked, struct chunked_input *input, const char **data_out,
                 size_t *len_out, struct error *err) NONNULL MUST_CHECK;

#endif
