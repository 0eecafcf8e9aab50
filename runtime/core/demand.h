/*
 * How many warm sandboxes of each class should be ready: as many as were started recently, at least
 * each class's minimum, at most a total. Pure.
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
/* Maximum number of classes with a minimum. */
#define DEMAND_CONFIGS_MAX 8
#define DEMAND_STARTS_MAX 64
#define DEMAND_IMAGE_BYTES 256
/* Starts older than this no longer predict demand. */
#define DEMAND_WINDOW_MS INT64_C(300000)

struct demand_class {
    char image[DEMAND_IMAGE_BYTES];
    int64_t memory_bytes;
    int64_t nano_cpus;
};

struct demand_entry {
    struct demand_class class;
    int64_t starts_ms[DEMAND_STARTS_MAX]; /* ring buffer; 0: empty */
    size_t next;
    size_t least;
};

/* Minimum number of warm sandboxes of a class. */
struct demand_want {
    struct demand_class class;
    size_t count;
};

struct demand {
    size_t most; /* of all classes, unless the minimums add up to more */
    struct demand_entry entries[DEMAND_CLASSES_MAX];
    size_t n;
};

/* first: the default class. */
void demand_init(struct demand *demand, const struct demand_class *first, size_t least,
                 size_t most) NONNULL;
/* Replaces all minimums; n: DEMAND_CONFIGS_MAX at most. */
void demand_set_wants(struct demand *demand, const struct demand_want *wants, size_t n) NONNULL;
/* Records a start of that class at now_ms. A new class replaces the least recently started one
 * without a minimum. Returns whether the class was known. */
bool demand_note(struct demand *demand, const struct demand_class *class, int64_t now_ms) NONNULL;
bool demand_class_equal(const struct demand_class *a, const struct demand_class *b) NONNULL;
/* Number of sandboxes of each entry that should be ready, in the order of entries. */
void demand_plan(const struct demand *demand, int64_t now_ms,
                 size_t wanted_out[DEMAND_CLASSES_MAX]) NONNULL;

#endif
