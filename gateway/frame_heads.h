/*
 * The heads of a client's WebSocket frames, read along as bytes come in pieces: whether each is
 * masked. RFC 6455, sections 5.1 and 5.2.
 */
#ifndef DEFT_GATEWAY_FRAME_HEADS_H
#define DEFT_GATEWAY_FRAME_HEADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define FRAME_HEAD_MAX_BYTES 14

struct frame_heads {
    uint64_t n_skipped; /* bytes that come before the next head */
    unsigned char head[FRAME_HEAD_MAX_BYTES];
    size_t n_head; /* of it are here */
};

/*
 * Reads along: returns len, or how many of the bytes come before the first one that says that a
 * frame is not masked. Nothing is to be read after that.
 */
size_t frame_heads_read(struct frame_heads *heads, const unsigned char *bytes,
                        size_t len) NONNULL MUST_CHECK;

#endif
