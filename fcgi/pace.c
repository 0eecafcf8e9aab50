#include "fcgi/pace.h"

#include "base/clock.h"

bool pace_is_too_slow(struct pace *pace, int64_t begun_ms, size_t n_bytes)
{
    pace->spent_ms += clock_monotonic_ms() - begun_ms;
    pace->n_bytes += (int64_t)n_bytes;
    return pace->spent_ms > pace->grace_ms + pace->n_bytes / PACE_LEAST_BYTES_PER_S * 1000;
}
