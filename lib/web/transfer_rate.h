/*
 * The transfer rate of one side of a stream: bytes moved, and the time spent waiting for them. A
 * side below the minimum rate holds a thread that other requests need.
 *
 * Threading: a rate belongs to one thread.
 */
#ifndef DEFT_WEB_TRANSFER_RATE_H
#define DEFT_WEB_TRANSFER_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Below any line in real use, and a thousandth of a sandbox's rate. */
#define TRANSFER_MIN_BYTES_PER_S 8192
/* Total time spent waiting for a client before its rate counts. */
#define TRANSFER_CLIENT_GRACE_MS 20000
/* A sandbox may be packing a large tree, or be out of memory for a while. */
#define TRANSFER_SANDBOX_GRACE_MS 180000

struct transfer_rate {
    int64_t grace_ms;
    int64_t spent_ms; /* waiting for that side */
    int64_t n_bytes;
};

/*
 * Records that n_bytes moved since begun_ms (clock_monotonic_ms()); true when the side is too slow.
 */
bool transfer_rate_is_too_slow(struct transfer_rate *rate, int64_t begun_ms,
                               size_t n_bytes) NONNULL MUST_CHECK;

#endif
