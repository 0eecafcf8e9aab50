#include "runtime/core/start_queue.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"

#define STARTS_MAX 1024

struct start_queue {
    struct lock lock; /* guards all below */
    struct condition changed;
    struct id_set queued; /* oldest first */
    struct id_set under_way;
    bool is_closed;
};

struct start_queue *start_queue_new(void)
{
    struct start_queue *queue = NEW(struct start_queue);

    lock_init(&queue->lock);
    condition_init(&queue->changed);
    return queue;
}

void start_queue_free(struct start_queue *queue)
{
    if (queue == NULL)
        return;
    id_set_done(&queue->queued);
    id_set_done(&queue->under_way);
    condition_done(&queue->changed);
    lock_done(&queue->lock);
    mem_free(queue);
}

static bool is_known_locked(const struct start_queue *queue, const char *id) REQUIRES(queue -> lock)
{
    return id_set_has(&queue->queued, id) || id_set_has(&queue->under_way, id);
}

int start_queue_add(struct start_queue *queue, const char *id, struct error *err)
{
    bool is_full = false;

    lock_take(&queue->lock);
    is_full = queue->queued.n >= STARTS_MAX;
    if (!is_full && !is_known_locked(queue, id)) {
        id_set_add(&queue->queued, id);
        condition_wake_all(&queue->changed);
    }
    lock_release(&queue->lock);
    if (is_full)
        return error_set(err, ERROR_UNAVAILABLE, "too many sandboxes are starting");
    return 0;
}

bool start_queue_take(struct start_queue *queue, char id_out[RUNTIME_ID_BYTES])
{
    bool has_one = false;

    lock_take(&queue->lock);
    while (queue->queued.n == 0 && !queue->is_closed)
        condition_wait(&queue->changed, &queue->lock);
    has_one = queue->queued.n > 0 && !queue->is_closed;
    if (has_one) {
        memcpy(id_out, queue->queued.ids[0], RUNTIME_ID_BYTES);
        id_set_remove(&queue->queued, id_out);
        id_set_add(&queue->under_way, id_out);
    }
    lock_release(&queue->lock);
    return has_one;
}

void start_queue_finish(struct start_queue *queue, const char *id)
{
    lock_take(&queue->lock);
    id_set_remove(&queue->under_way, id);
    condition_wake_all(&queue->changed);
    lock_release(&queue->lock);
}

bool start_queue_wait(struct start_queue *queue, const char *id, int64_t deadline_ms)
{
    bool is_over = false;
    bool has_time = true;

    lock_take(&queue->lock);
    while (is_known_locked(queue, id) && has_time && !queue->is_closed)
        has_time = condition_wait_until(&queue->changed, &queue->lock, deadline_ms);
    is_over = !is_known_locked(queue, id);
    lock_release(&queue->lock);
    return is_over;
}

void start_queue_wait_empty(struct start_queue *queue, int64_t deadline_ms)
{
    bool has_time = true;

    lock_take(&queue->lock);
    while (queue->queued.n + queue->under_way.n > 0 && has_time && !queue->is_closed)
        has_time = condition_wait_until(&queue->changed, &queue->lock, deadline_ms);
    lock_release(&queue->lock);
}

void start_queue_close(struct start_queue *queue)
{
    lock_take(&queue->lock);
    queue->is_closed = true;
    condition_wake_all(&queue->changed);
    lock_release(&queue->lock);
}

bool start_queue_has(struct start_queue *queue, const char *id)
{
    bool has = false;

    lock_take(&queue->lock);
    has = is_known_locked(queue, id);
    lock_release(&queue->lock);
    return has;
}
