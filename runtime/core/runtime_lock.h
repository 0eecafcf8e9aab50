/*
 * A lock for each runtime: a thread holds it while it changes the runtime.
 *
 * Ownership: runtime_locks_free() once no thread uses it.
 * Threading: any thread. The internal lock is never held during I/O.
 */
#ifndef DEFT_RUNTIME_CORE_RUNTIME_LOCK_H
#define DEFT_RUNTIME_CORE_RUNTIME_LOCK_H

#include <stdbool.h>

#include "base/attr.h"
#include "runtime/core/id_set.h"

struct runtime_locks;

struct runtime_locks *runtime_locks_new(void) MUST_CHECK;
void runtime_locks_free(struct runtime_locks *locks);

/* CLEANUP(runtime_lock_release) struct runtime_lock held = runtime_lock_take(locks, id); */
struct runtime_lock {
    struct runtime_locks *locks;
    char id[RUNTIME_ID_BYTES];
};

/* Blocks until no other thread holds `id`, then acquires it. */
struct runtime_lock runtime_lock_take(struct runtime_locks *locks,
                                      const char *id) NONNULL MUST_CHECK;
void runtime_lock_release(struct runtime_lock *held) NONNULL;
/* True if a thread holds `id`. */
bool runtime_lock_is_held(struct runtime_locks *locks, const char *id) NONNULL MUST_CHECK;

#endif
