#include "runtime/docker/frames.h"

#include <string.h>

void frames_done(struct frames *frames)
{
    strbuf_done(&frames->text);
}

static void keep_end(struct strbuf *text)
{
    if (text->len > FRAMES_TEXT_MAX_BYTES)
        strbuf_remove_head(text, text->len - FRAMES_TEXT_MAX_BYTES);
}

static size_t feed_header(struct frames *frames, const char *bytes, size_t len)
{
    size_t n = sizeof(frames->header) - frames->n_header;
    const unsigned char *header = frames->header;

    if (n > len)
        n = len;
    memcpy(frames->header + frames->n_header, bytes, n);
    frames->n_header += n;
    if (frames->n_header < sizeof(frames->header))
        return n;
    frames->payload_left = (size_t)header[4] << 24 | (size_t)header[5] << 16 |
                           (size_t)header[6] << 8 | (size_t)header[7];
    frames->n_header = 0;
    return n;
}

static size_t feed_payload(struct frames *frames, const char *bytes, size_t len)
{
    size_t n = len < frames->payload_left ? len : frames->payload_left;

    strbuf_append_bytes(&frames->text, bytes, n);
    keep_end(&frames->text);
    frames->payload_left -= n;
    return n;
}

void frames_feed(struct frames *frames, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t n = frames->payload_left > 0 ? feed_payload(frames, bytes, len)
                                            : feed_header(frames, bytes, len);

        bytes += n;
        len -= n;
    }
}
