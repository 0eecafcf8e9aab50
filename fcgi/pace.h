/*
 * How fast one side of a stream is: the time that was spent waiting for it, and what it moved. One
 * that is slower than the least rate holds a thread that others wait for.
 *
 * Threading: a pace belongs to one thread.
 */
#ifndef DEFT_FCGI_PACE_H
#define DEFT_FCGI_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Slower than any line that people use, and a thousandth of what a sandbox gives. */
#define PACE_LEAST_BYTES_PER_S 8192
/* What a client may wait in all before its rate counts. */
#define PACE_CLIENT_GRACE_MS 20000
/* A sandbox packs a large tree, or runs out of memory for a while. */
#define PACE_SANDBOX_GRACE_MS 180000

struct pace {
    int64_t grace_ms;
    int64_t spent_ms; /* waiting for that side */
    int64_t n_bytes;
};

/* Notes that n_bytes moved since clock_monotonic_ms() said begun_ms; true when it is too slow. */
bool pace_is_too_slow(struct pace *pace, int64_t begun_ms, size_t n_bytes) NONNULL MUST_CHECK;

#endif
