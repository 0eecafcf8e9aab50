/*
 * Parser of the engine's framing of container output: 8 bytes (stream, 0, 0, 0, length big-endian),
 * then the payload; input may be split anywhere. Keeps only the end of the text.
 *
 * Ownership: frames_done() releases the text.
 * Threading: one thread.
 */
#ifndef DEFT_RUNTIME_DOCKER_FRAMES_H
#define DEFT_RUNTIME_DOCKER_FRAMES_H

#include <stddef.h>

#include "base/attr.h"
#include "base/strbuf.h"

#define FRAMES_TEXT_MAX_BYTES 8192
#define FRAMES_HEADER_BYTES 8

struct frames {
    struct strbuf text; /* both streams in order, the last FRAMES_TEXT_MAX_BYTES */
    unsigned char header[FRAMES_HEADER_BYTES];
    size_t n_header;
    size_t payload_left;
};

/* clang-format off */
#define FRAMES_INIT {.text = STRBUF_INIT}
/* clang-format on */

void frames_done(struct frames *frames) NONNULL;
void frames_feed(struct frames *frames, const char *bytes, size_t len) NONNULL;

#endif
