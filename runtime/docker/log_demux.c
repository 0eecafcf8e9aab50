#include "runtime/docker/log_demux.h"

#include <string.h>

void log_demux_done(struct log_demux *demux)
{
    strbuf_done(&demux->text);
}

static void keep_end(struct strbuf *text)
{
    if (text->len > LOG_DEMUX_TEXT_MAX_BYTES)
        strbuf_remove_head(text, text->len - LOG_DEMUX_TEXT_MAX_BYTES);
}

static size_t feed_header(struct log_demux *demux, const char *bytes, size_t len)
{
    size_t n = sizeof(demux->header) - demux->n_header;
    const unsigned char *header = demux->header;

    if (n > len)
        n = len;
    memcpy(demux->header + demux->n_header, bytes, n);
    demux->n_header += n;
    if (demux->n_header < sizeof(demux->header))
        return n;
    demux->payload_left = (size_t)header[4] << 24 | (size_t)header[5] << 16 |
                          (size_t)header[6] << 8 | (size_t)header[7];
    demux->n_header = 0;
    return n;
}

static size_t feed_payload(struct log_demux *demux, const char *bytes, size_t len)
{
    size_t n = len < demux->payload_left ? len : demux->payload_left;

    strbuf_append_bytes(&demux->text, bytes, n);
    keep_end(&demux->text);
    demux->payload_left -= n;
    return n;
}

void log_demux_feed(struct log_demux *demux, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t n = demux->payload_left > 0 ? feed_payload(demux, bytes, len)
                                           : feed_header(demux, bytes, len);

        bytes += n;
        len -= n;
    }
}
