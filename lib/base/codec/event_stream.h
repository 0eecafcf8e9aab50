/*
 * Reader of application/vnd.amazon.eventstream, the binary messages of streaming AWS services:
 * takes bytes as they arrive and returns complete messages, however the bytes are split. Checksums
 * are verified.
 *
 * Ownership: the caller owns struct event_stream; event_stream_done() releases what it holds.
 * Memory:    one message. Threading: one thread at a time.
 * Source:    https://smithy.io/2.0/aws/amazon-eventstream.html
 */
#ifndef DEFT_BASE_CODEC_EVENT_STREAM_H
#define DEFT_BASE_CODEC_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct error;

struct event_stream {
    size_t max_bytes;    /* of one message */
    struct strbuf frame; /* the incomplete message */
    size_t frame_len;    /* of the whole message; 0: not known yet */
    struct strbuf kind;  /* values of headers of the last message */
    struct strbuf type;
    struct strbuf words;
    bool is_taken; /* the frame was returned: clear it first */
};

/* clang-format off */
#define EVENT_STREAM_INIT(max)                                                                     \
    {.max_bytes = (max), .frame = STRBUF_INIT, .kind = STRBUF_INIT, .type = STRBUF_INIT,            \
     .words = STRBUF_INIT}
/* clang-format on */

/* Received bytes; event_stream_next() advances the pointer. */
struct event_stream_input {
    const char *bytes;
    size_t len;
};

/* Texts are "" where the message has no such header. */
struct event_stream_message {
    const char *kind;    /* :message-type: "event", "exception" or "error" */
    const char *type;    /* of the event or the exception, or the error's code */
    const char *words;   /* :error-message */
    const char *payload; /* NULL: the input is consumed */
    size_t payload_len;
};

void event_stream_done(struct event_stream *stream);
/*
 * Returns the next message of the input, or payload NULL if more input is needed; borrowed until
 * the next call. ERROR_TOO_LARGE above max_bytes, ERROR_INVALID for a malformed message or a wrong
 * checksum.
 */
int event_stream_next(struct event_stream *stream, struct event_stream_input *input,
                      struct event_stream_message *message_out,
                      struct error *err) NONNULL MUST_CHECK;

#endif
