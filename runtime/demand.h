/*
 * How many sandboxes of which class should be ready: as many as were started lately, between a
 * least number of the default class and a most of all. Pure.
 *
 * Threading: the caller locks.
 */
#ifndef DEFT_RUNTIME_DEMAND_H
#define DEFT_RUNTIME_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define DEMAND_CLASSES_MAX 8
#define DEMAND_STARTS_MAX 64
#define DEMAND_IMAGE_BYTES 256
/* Starts this long ago say nothing of the next ones any more. */
#define DEMAND_WINDOW_MS INT64_C(300000)

struct demand_class {
    char image[DEMAND_IMAGE_BYTES];
    int64_t memory_bytes;
    int64_t nano_cpus;
};

struct demand_entry {
    struct demand_class class;
    int64_t starts_ms[DEMAND_STARTS_MAX]; /* a ring; 0: none */
    size_t next;
};

struct demand {
    size_t least; /* of the first class */
    size_t most;  /* of all together */
    struct demand_entry entries[DEMAND_CLASSES_MAX];
    size_t n;
};

/* first: the default class, which always has a place. */
void demand_init(struct demand *demand, const struct demand_class *first, size_t least,
                 size_t most) NONNULL;
/* A start of that class, now. The class least lately started makes room for a new one. Says whether
 * the class was known. */
bool demand_note(struct demand *demand, const struct demand_class *class, int64_t now_ms) NONNULL;
bool demand_class_equal(const struct demand_class *a, const struct demand_class *b) NONNULL;
/* How many of each entry should be ready, in the entries' order. */
void demand_plan(const struct demand *demand, int64_t now_ms,
                 size_t wanted_out[DEMAND_CLASSES_MAX]) NONNULL;

#endif
