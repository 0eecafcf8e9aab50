/* A byte queue of fixed size. One reader, one writer, no locks. */
#ifndef RING_H
#define RING_H

#include <stddef.h>

#define RING_SIZE 8

/* Holds at most RING_SIZE bytes. All zero is an empty ring. */
struct ring {
    unsigned char bytes[RING_SIZE];
    size_t n_read;    /* bytes ever taken out */
    size_t n_written; /* bytes ever put in */
};

/* Bytes that can be read now. */
size_t ring_used(const struct ring *ring);

/* Puts in as many of the bytes as fit; returns how many. */
size_t ring_put(struct ring *ring, const void *bytes, size_t n);

/* Takes out at most n bytes, oldest first; returns how many. */
size_t ring_take(struct ring *ring, void *bytes, size_t n);

#endif
