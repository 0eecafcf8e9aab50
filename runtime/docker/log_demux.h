/*
 * Parser of the engine's framing of container output: 8 bytes (stream, 0, 0, 0, length big-endian),
 * then the payload; input may be split anywhere. Keeps only the end of the text.
 *
 * Ownership: log_demux_done() releases the text.
 * Threading: one thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_LOG_DEMUX_H
#define DEFT_RUNTIME_DOCKER_LOG_DEMUX_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

#define LOG_DEMUX_TEXT_MAX_BYTES 8192
#define LOG_DEMUX_HEADER_BYTES 8

struct log_demux {
    struct strbuf text; /* both streams in order, the last LOG_DEMUX_TEXT_MAX_BYTES */
    unsigned char header[LOG_DEMUX_HEADER_BYTES];
    size_t n_header;
    size_t payload_left;
};

/* clang-format off */
#define LOG_DEMUX_INIT {.text = STRBUF_INIT}
/* clang-format on */

void log_demux_done(struct log_demux *demux) NONNULL;
/* Takes the next bytes of the stream. */
void log_demux_feed(struct log_demux *demux, const char *bytes, size_t len) NONNULL;

#endif
