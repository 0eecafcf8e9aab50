#include "ring.h"

#include <string.h>

size_t ring_used(const struct ring *ring)
{
    return (ring->n_written - ring->n_read) % RING_SIZE;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t ring_put(struct ring *ring, const void *bytes, size_t n)
{
    const size_t at = ring->n_written % RING_SIZE;
    const size_t n_put = least(n, RING_SIZE - ring_used(ring));
    const size_t n_first = least(n_put, RING_SIZE - at);

    memcpy(ring->bytes + at, bytes, n_first);
    memcpy(ring->bytes, (const char *)bytes + n_first, n_put - n_first);
    ring->n_written += n_put;
    return n_put;
}

size_t ring_take(struct ring *ring, void *bytes, size_t n)
{
    const size_t at = ring->n_read % RING_SIZE;
    const size_t n_taken = least(n, ring_used(ring));
    const size_t n_first = least(n_taken, RING_SIZE - at - 1);

    memcpy(bytes, ring->bytes + at, n_first);
    memcpy((char *)bytes + n_first, ring->bytes, n_taken - n_first);
    ring->n_read += n_taken;
    return n_taken;
}
