/*
 * How many sandboxes of which class should be ready: as many as were started lately, between a
 * least number of some classes and a most of all. Pure.
 *
 * Threading: the caller locks.
 */
#ifndef DEFT_RUNTIME_CORE_DEMAND_H
#define DEFT_RUNTIME_CORE_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define DEMAND_CLASSES_MAX 16
/* Of them, how many have a least number. */
#define DEMAND_CONFIGS_MAX 8
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
    size_t least;
};

/* So many of a class always wait. */
struct demand_want {
    struct demand_class class;
    size_t count;
};

struct demand {
    size_t most; /* of all together, unless more always wait */
    struct demand_entry entries[DEMAND_CLASSES_MAX];
    size_t n;
};

/* first: the default class. */
void demand_init(struct demand *demand, const struct demand_class *first, size_t least,
                 size_t most) NONNULL;
/* What always waits from now on, in place of what did; n: DEMAND_CONFIGS_MAX at most. */
void demand_set_wants(struct demand *demand, const struct demand_want *wants, size_t n) NONNULL;
/* A start of that class, now. The class least lately started, of those that need not wait, makes
 * room for a new one. Says whether the class was known. */
bool demand_note(struct demand *demand, const struct demand_class *class, int64_t now_ms) NONNULL;
bool demand_class_equal(const struct demand_class *a, const struct demand_class *b) NONNULL;
/* How many of each entry should be ready, in the entries' order. */
void demand_plan(const struct demand *demand, int64_t now_ms,
                 size_t wanted_out[DEMAND_CLASSES_MAX]) NONNULL;

#endif
