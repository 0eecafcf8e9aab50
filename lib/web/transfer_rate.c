#include "web/transfer_rate.h"

#include "base/clock.h"

bool transfer_rate_is_too_slow(struct transfer_rate *rate, int64_t begun_ms, size_t n_bytes)
{
    rate->spent_ms += clock_monotonic_ms() - begun_ms;
    rate->n_bytes += (int64_t)n_bytes;
    return rate->spent_ms > rate->grace_ms + rate->n_bytes / TRANSFER_MIN_BYTES_PER_S * 1000;
}
