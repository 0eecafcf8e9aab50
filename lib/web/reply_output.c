#include "web/reply_output.h"

#include "base/clock.h"
#include "web/transfer_rate.h"

/* Small, so that a client's rate is checked often. */
enum { PIECE_BYTES = 16384 };

bool reply_output_write(const struct reply_output *output, struct transfer_rate *rate,
                        const char *bytes, size_t len)
{
    while (len > 0) {
        int64_t begun_ms = clock_monotonic_ms();
        int n = len > PIECE_BYTES ? PIECE_BYTES : (int)len;

        if (output->write(output->stream, bytes, n) < 0 ||
            transfer_rate_is_too_slow(rate, begun_ms, (size_t)n))
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}
