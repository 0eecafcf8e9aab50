/*
 * Frames that a client sends to the gateway. Cut into pieces they are refused at the same byte.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gateway/ws/frame_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Where the first frame begins that is not masked; len without one. */
static size_t find_unmasked(const uint8_t *bytes, size_t len, size_t piece)
{
    struct frame_heads heads = {.n_skipped = 0};

    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        size_t n_fine = frame_heads_read(&heads, bytes + at, n);

        assert(n_fine <= n && heads.n_head <= FRAME_HEAD_MAX_BYTES);
        if (n_fine < n)
            return at + n_fine;
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    assert(find_unmasked(bytes, len, len + 1) == find_unmasked(bytes, len, 1));
    return 0;
}
