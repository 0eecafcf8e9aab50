/*
 * How many warm sandboxes of each class should be ready: as many as were started recently, at least
 * each class's minimum, at most a total. Pure.
 *
 * Threading: the caller locks.
 */
#ifndef DEFT_RUNTIME_CORE_POOL_SIZING_H
#define DEFT_RUNTIME_CORE_POOL_SIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define POOL_CLASSES_MAX 16
/* Maximum number of classes with a minimum. */
#define POOL_CONFIGS_MAX 8
#define POOL_STARTS_MAX 64
#define POOL_IMAGE_BYTES 256
/* Starts older than this no longer predict demand. */
#define POOL_WINDOW_MS INT64_C(300000)

struct pool_class {
    char image[POOL_IMAGE_BYTES];
    int64_t memory_bytes;
    int64_t nano_cpus;
};

struct pool_class_starts {
    struct pool_class class;
    int64_t starts_ms[POOL_STARTS_MAX]; /* ring buffer; 0: empty */
    size_t next;
    size_t least;
};

/* Minimum number of warm sandboxes of a class. */
struct pool_minimum {
    struct pool_class class;
    size_t count;
};

struct pool_sizing {
    size_t most; /* of all classes, unless the minimums add up to more */
    struct pool_class_starts entries[POOL_CLASSES_MAX];
    size_t n;
};

/* first: the default class. */
void pool_sizing_init(struct pool_sizing *sizing, const struct pool_class *first, size_t least,
                      size_t most) NONNULL;
/* Replaces all minimums; n: POOL_CONFIGS_MAX at most. */
void pool_sizing_set_minimums(struct pool_sizing *sizing, const struct pool_minimum *wants,
                              size_t n) NONNULL;
/* Records a start of that class at now_ms. A new class replaces the least recently started one
 * without a minimum. Returns whether the class was known. */
bool pool_sizing_record_start(struct pool_sizing *sizing, const struct pool_class *class,
                              int64_t now_ms) NONNULL;
bool pool_class_equal(const struct pool_class *a, const struct pool_class *b) NONNULL;
/* Number of sandboxes of each entry that should be ready, in the order of entries. */
void pool_sizing_plan(const struct pool_sizing *sizing, int64_t now_ms,
                      size_t wanted_out[POOL_CLASSES_MAX]) NONNULL;

#endif
