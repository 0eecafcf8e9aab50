#include "runtime/core/runtime_lock.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

struct runtime_locks {
    struct lock lock; /* guards all below */
    struct condition changed;
    struct id_set held;
};

struct runtime_locks *runtime_locks_new(void)
{
    struct runtime_locks *locks = NEW(struct runtime_locks);

    lock_init(&locks->lock);
    condition_init(&locks->changed);
    return locks;
}

void runtime_locks_free(struct runtime_locks *locks)
{
    if (locks == NULL)
        return;
    id_set_done(&locks->held);
    condition_done(&locks->changed);
    lock_done(&locks->lock);
    mem_free(locks);
}

struct runtime_lock runtime_lock_take(struct runtime_locks *locks, const char *id)
{
    struct runtime_lock held = {.locks = locks};

    memcpy(held.id, id, strnlen(id, RUNTIME_ID_BYTES - 1));
    lock_take(&locks->lock);
    while (id_set_has(&locks->held, held.id))
        condition_wait(&locks->changed, &locks->lock);
    id_set_add(&locks->held, held.id);
    lock_release(&locks->lock);
    return held;
}

void runtime_lock_release(struct runtime_lock *held)
{
    struct runtime_locks *locks = held->locks;

    lock_take(&locks->lock);
    id_set_remove(&locks->held, held->id);
    condition_wake_all(&locks->changed);
    lock_release(&locks->lock);
}

bool runtime_lock_is_held(struct runtime_locks *locks, const char *id)
{
    bool is_held = false;

    lock_take(&locks->lock);
    is_held = id_set_has(&locks->held, id);
    lock_release(&locks->lock);
    return is_held;
}
