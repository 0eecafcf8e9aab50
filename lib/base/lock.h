/*
 * A mutex and a condition variable that clang's thread-safety analysis understands.
 *
 * A lock's holder does no I/O and makes no callbacks; the struct says what it guards.
 */
#ifndef DEFT_BASE_LOCK_H
#define DEFT_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct LOCK_TYPE lock {
    pthread_mutex_t mutex;
};

struct condition {
    pthread_cond_t cond; /* uses the monotonic clock */
};

/* Failures are bugs, and end the process. */
void lock_init(struct lock *lock) NONNULL;
void lock_done(struct lock *lock) NONNULL;
void lock_take(struct lock *lock) NONNULL ACQUIRES(*lock);
void lock_release(struct lock *lock) NONNULL RELEASES(*lock);

/* A condition is used with one lock, that of the state that it is about. */
void condition_init(struct condition *condition) NONNULL;
void condition_done(struct condition *condition) NONNULL;
/* Waits for a wake-up; the caller checks its condition again. */
void condition_wait(struct condition *condition, struct lock *lock) NONNULL REQUIRES(*lock);
/* As condition_wait(); false when deadline_ms (clock_monotonic_ms()) has passed. */
bool condition_wait_until(struct condition *condition, struct lock *lock,
                          int64_t deadline_ms) NONNULL REQUIRES(*lock);
void condition_wake_all(struct condition *condition) NONNULL;
void condition_wake_one(struct condition *condition) NONNULL;

#endif
