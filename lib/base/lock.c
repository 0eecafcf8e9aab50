#include "base/lock.h"

#include <stdlib.h>
#include <time.h>

/* A mutex fails only when misused: a bug of ours. */
static void must(int rc)
{
    if (rc != 0)
        abort();
}

void lock_init(struct lock *lock)
{
    must(pthread_mutex_init(&lock->mutex, NULL));
}

void lock_done(struct lock *lock)
{
    must(pthread_mutex_destroy(&lock->mutex));
}

void lock_take(struct lock *lock) NO_LOCK_ANALYSIS
{
    must(pthread_mutex_lock(&lock->mutex));
}

void lock_release(struct lock *lock) NO_LOCK_ANALYSIS
{
    must(pthread_mutex_unlock(&lock->mutex));
}

void condition_init(struct condition *condition)
{
    pthread_condattr_t attr;

    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&condition->cond, &attr));
    must(pthread_condattr_destroy(&attr));
}

void condition_done(struct condition *condition)
{
    must(pthread_cond_destroy(&condition->cond));
}

void condition_wait(struct condition *condition, struct lock *lock)
{
    must(pthread_cond_wait(&condition->cond, &lock->mutex));
}

bool condition_wait_until(struct condition *condition, struct lock *lock, int64_t deadline_ms)
{
    struct timespec deadline = {.tv_sec = deadline_ms / 1000,
                                .tv_nsec = (deadline_ms % 1000) * 1000000L};

    return pthread_cond_timedwait(&condition->cond, &lock->mutex, &deadline) == 0;
}

void condition_wake_all(struct condition *condition)
{
    must(pthread_cond_broadcast(&condition->cond));
}

void condition_wake_one(struct condition *condition)
{
    must(pthread_cond_signal(&condition->cond));
}
