/*
 * Server-sent events: takes bytes as they come and gives whole events; how the bytes were cut into
 * pieces makes no difference.
 *
 * Ownership: the caller owns struct sse; sse_done() releases what it holds.
 * Threading: one thread at a time.
 * Source: WHATWG HTML, section 9.2 (line ends CR, LF, CRLF; leading BOM; comments begin with ':').
 */
#ifndef DEFT_CLIENT_SSE_H
#define DEFT_CLIENT_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct sse {
    size_t max_bytes;   /* of one line, and of one event's data */
    struct strbuf line; /* the line that is not over yet */
    struct strbuf data; /* the data lines of the event that is not over yet */
    struct strbuf name; /* its event: field */
    bool has_data;      /* also an empty data line makes an event */
    bool was_cr;        /* a LF now belongs to the CR before */
    bool has_begun;     /* past the place where a BOM may stand */
    bool is_taken;      /* data and name were given out: forget them first */
};

/* clang-format off */
#define SSE_INIT(max) {.max_bytes = (max), .line = STRBUF_INIT, .data = STRBUF_INIT, .name = STRBUF_INIT}
/* clang-format on */

/* Bytes that came; sse_next() moves the pointer on. */
struct sse_input {
    const char *bytes;
    size_t len;
};

struct sse_event {
    const char *name; /* "message" when the event has none */
    const char *data; /* NULL: the input is used up */
    size_t len;
};

void sse_done(struct sse *sse);
/*
 * Gives the next event of the input, or data NULL when more input is needed; borrowed until the
 * next call. ERROR_TOO_LARGE above max_bytes. An event without its closing empty line is not given,
 * as the standard wants it.
 */
int sse_next(struct sse *sse, struct sse_input *input, struct sse_event *event_out,
             struct error *err) NONNULL MUST_CHECK;

#endif
