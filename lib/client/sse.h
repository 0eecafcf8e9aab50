/*
 * Server-sent events parser: takes bytes as they arrive and returns complete events, however the
 * bytes are split.
 *
 * Ownership: the caller owns struct sse; sse_done() releases what it holds.
 * Threading: one thread at a time.
 * Source: WHATWG HTML, section 9.2 (line ends CR, LF, CRLF; leading BOM; comments begin with ':').
 */
#ifndef DEFT_CLIENT_SSE_H
#define DEFT_CLIENT_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct sse {
    size_t max_bytes;      /* of one line, and of one event's data */
    struct strbuf line;    /* the incomplete line */
    struct strbuf data;    /* data lines of the incomplete event */
    struct strbuf name;    /* its event: field */
    struct strbuf id;      /* the newest id: field */
    struct strbuf last_id; /* of the newest complete event; "": none, it cannot be resumed from */
    int64_t retry_ms;      /* the server's wish for the time before a reconnection; -1: none */
    bool has_new_id;       /* since the newest complete event */
    bool has_data;         /* an empty data line also makes an event */
    bool was_cr;           /* a LF that follows belongs to this CR */
    bool has_begun;        /* past the position of a BOM */
    bool is_taken;         /* data and name were returned: clear them first */
};

/* clang-format off */
#define SSE_INIT(max) {.max_bytes = (max), .line = STRBUF_INIT, .data = STRBUF_INIT, .name = STRBUF_INIT, .id = STRBUF_INIT, .last_id = STRBUF_INIT, .retry_ms = -1}
/* clang-format on */

/* Received bytes; sse_next() advances the pointer. */
struct sse_input {
    const char *bytes;
    size_t len;
};

struct sse_event {
    const char *name; /* "message" when the event has none */
    const char *data; /* NULL: the input is consumed */
    size_t len;
};

void sse_done(struct sse *sse);
/* Begins another stream, which resumes the one that was read: keeps last_id and retry_ms. */
void sse_restart(struct sse *sse) NONNULL;
/*
 * Returns the next event of the input, or data NULL if more input is needed; borrowed until the
 * next call. ERROR_TOO_LARGE above max_bytes. As the standard requires, an event without its
 * closing empty line is not returned.
 */
int sse_next(struct sse *sse, struct sse_input *input, struct sse_event *event_out,
             struct error *err) NONNULL MUST_CHECK;

#endif
