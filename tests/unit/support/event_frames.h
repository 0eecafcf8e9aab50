/* Messages of application/vnd.amazon.eventstream, as an AWS service sends them. */
#ifndef DEFT_TESTS_UNIT_SUPPORT_EVENT_FRAMES_H
#define DEFT_TESTS_UNIT_SUPPORT_EVENT_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "base/strbuf.h"

static inline void frame_append_number(struct strbuf *out, size_t number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};

    strbuf_append_bytes(out, bytes, sizeof(bytes));
}

/* The checksum of what was appended since `begin`. */
static inline void frame_append_sum(struct strbuf *out, size_t begin)
{
    frame_append_number(out,
                        crc32_z(0, (const unsigned char *)out->text + begin, out->len - begin));
}

/* A message with those bytes as headers. */
static inline void frame_append_raw(struct strbuf *out, const struct strbuf *headers,
                                    const char *payload, size_t len)
{
    size_t begin = out->len;

    frame_append_number(out, 16 + headers->len + len);
    frame_append_number(out, headers->len);
    frame_append_sum(out, begin);
    strbuf_append_bytes(out, headers->text, headers->len);
    strbuf_append_bytes(out, payload, len);
    frame_append_sum(out, begin);
}

/* A header with a text. */
static inline void frame_append_header(struct strbuf *headers, const char *name, const char *value)
{
    const unsigned char value_head[] = {7, (unsigned char)(strlen(value) >> 8),
                                        (unsigned char)strlen(value)};

    strbuf_append_char(headers, (char)strlen(name));
    strbuf_append(headers, name);
    strbuf_append_bytes(headers, value_head, sizeof(value_head));
    strbuf_append(headers, value);
}

/* kind: "event" or "exception". */
static inline void frame_append(struct strbuf *out, const char *kind, const char *type,
                                const char *payload)
{
    CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;

    frame_append_header(&headers, strcmp(kind, "event") == 0 ? ":event-type" : ":exception-type",
                        type);
    frame_append_header(&headers, ":content-type", "application/json");
    frame_append_header(&headers, ":message-type", kind);
    frame_append_raw(out, &headers, payload, strlen(payload));
}

#endif
