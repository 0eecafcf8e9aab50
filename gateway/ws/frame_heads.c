#include "gateway/ws/frame_heads.h"

#include <stdbool.h>

enum {
    FIXED_BYTES = 2,
    MASK_BIT = 0x80,
    LENGTH_BITS = 0x7f,
    LENGTH_OF_16 = 126,
    LENGTH_OF_64 = 127,
    MASK_BYTES = 4,
};

/* Number of bytes of the extended payload length. */
static size_t n_length_bytes(const struct frame_heads *heads)
{
    unsigned length = heads->head[1] & LENGTH_BITS;

    if (length == LENGTH_OF_64)
        return sizeof(uint64_t);
    return length == LENGTH_OF_16 ? sizeof(uint16_t) : 0;
}

static uint64_t payload_length(const struct frame_heads *heads)
{
    size_t n = n_length_bytes(heads);
    uint64_t length = 0;

    if (n == 0)
        return heads->head[1] & LENGTH_BITS;
    for (size_t i = 0; i < n; i++)
        length = length << 8 | heads->head[FIXED_BYTES + i];
    return length;
}

/* False when the byte says that the frame is not masked. */
static bool take_byte(struct frame_heads *heads, unsigned char byte)
{
    heads->head[heads->n_head++] = byte;
    if (heads->n_head < FIXED_BYTES)
        return true;
    if ((heads->head[1] & MASK_BIT) == 0)
        return false;
    if (heads->n_head == FIXED_BYTES + n_length_bytes(heads) + MASK_BYTES) {
        heads->n_skipped = payload_length(heads);
        heads->n_head = 0;
    }
    return true;
}

size_t frame_heads_read(struct frame_heads *heads, const unsigned char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t n = len - at;

        if (heads->n_skipped == 0) {
            if (!take_byte(heads, bytes[at]))
                return at;
            at++;
            continue;
        }
        if (heads->n_skipped < n)
            n = (size_t)heads->n_skipped;
        heads->n_skipped -= n;
        at += n;
    }
    return len;
}
