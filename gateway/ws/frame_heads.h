/*
 * Parses the heads of a client's WebSocket frames incrementally, to check that each is masked. RFC
 * 6455, sections 5.1 and 5.2.
 */
#ifndef DEFT_GATEWAY_WS_FRAME_HEADS_H
#define DEFT_GATEWAY_WS_FRAME_HEADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define FRAME_HEAD_MAX_BYTES 14

struct frame_heads {
    uint64_t n_skipped; /* bytes before the next head */
    unsigned char head[FRAME_HEAD_MAX_BYTES];
    size_t n_head; /* bytes of it that are here */
};

/*
 * Parses the bytes; returns len, or the number of bytes before the first one that says that a frame
 * is not masked. Must not be called after that.
 */
size_t frame_heads_read(struct frame_heads *heads, const unsigned char *bytes,
                        size_t len) NONNULL MUST_CHECK;

#endif
