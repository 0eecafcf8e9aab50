/*
 * Incremental HTTP/1 reply parser: yields lines, body bytes and the end.
 *
 *     while (http1_next(&reader, &input, &piece, err) == 0 && piece.kind != HTTP1_NONE) …
 *
 * Ownership: the caller owns struct http1_reader until http1_done(). A piece points into the reader
 * or into the input and is valid until the next call.
 * Threading: pure.
 * Source: RFC 9112
 */
#ifndef DEFT_CLIENT_HTTP1_H
#define DEFT_CLIENT_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/codec/chunked.h"
#include "base/strbuf.h"

struct error;

enum http1_state {
    HTTP1_AT_STATUS,
    HTTP1_AT_HEADER,
    HTTP1_IN_BODY,
    HTTP1_AT_END,
};

struct http1_reader {
    enum http1_state state;
    struct strbuf line;
    long status;       /* of the last status line; 0 before it */
    int64_t left;      /* of the body; -1: until the connection ends */
    bool is_chunked;   /* from the headers, like the next two */
    bool is_kept;      /* the connection may be reused */
    bool is_line_used; /* the line was returned to the caller */
    struct chunked chunks;
};

/* clang-format off */
#define HTTP1_READER_INIT {.state = HTTP1_AT_STATUS, .line = STRBUF_INIT}
/* clang-format on */

void http1_done(struct http1_reader *reader);

/* Received bytes; the reader advances it. */
struct http1_input {
    const char *bytes;
    size_t len;
};

enum http1_kind {
    HTTP1_NONE, /* the input is used up */
    HTTP1_LINE, /* a status line or header, without its line end; also of interim (1xx) replies */
    HTTP1_BYTES,
    HTTP1_END, /* the rest of the input does not belong to this reply */
};

struct http1_piece {
    enum http1_kind kind;
    const char *bytes;
    size_t len;
};

/* ERROR_INVALID: not a valid reply; ERROR_TOO_LARGE: line too long. */
int http1_next(struct http1_reader *reader, struct http1_input *input,
               struct http1_piece *piece_out, struct error *err) NONNULL MUST_CHECK;
/* True if the end of the connection at this point completes the reply. */
bool http1_ends_with_connection(const struct http1_reader *reader) NONNULL MUST_CHECK;

#endif
