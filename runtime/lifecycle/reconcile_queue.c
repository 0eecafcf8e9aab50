#include "runtime/lifecycle/reconcile_queue.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

struct reconcile_queue {
    struct lock lock; /* guards all below */
    struct condition asked;
    unsigned what;
    bool is_stopping;
    struct backend_event event[RECONCILE_QUEUE_NEWS_MAX];
    size_t n_news;
};

struct reconcile_queue *reconcile_queue_new(void)
{
    struct reconcile_queue *reconcile_queue = NEW(struct reconcile_queue);

    lock_init(&reconcile_queue->lock);
    condition_init(&reconcile_queue->asked);
    return reconcile_queue;
}

void reconcile_queue_free(struct reconcile_queue *reconcile_queue)
{
    if (reconcile_queue == NULL)
        return;
    condition_done(&reconcile_queue->asked);
    lock_done(&reconcile_queue->lock);
    mem_free(reconcile_queue);
}

void reconcile_queue_add(struct reconcile_queue *reconcile_queue, unsigned what)
{
    lock_take(&reconcile_queue->lock);
    reconcile_queue->what |= what;
    condition_wake_all(&reconcile_queue->asked);
    lock_release(&reconcile_queue->lock);
}

/* Events that do not fit are made up for by a check of everything. */
void reconcile_queue_add_event(struct reconcile_queue *reconcile_queue,
                               const struct backend_event *event)
{
    lock_take(&reconcile_queue->lock);
    if (reconcile_queue->n_news < RECONCILE_QUEUE_NEWS_MAX)
        reconcile_queue->event[reconcile_queue->n_news++] = *event;
    else
        reconcile_queue->what |= RECONCILE_ALL;
    condition_wake_all(&reconcile_queue->asked);
    lock_release(&reconcile_queue->lock);
}

void reconcile_queue_stop(struct reconcile_queue *reconcile_queue)
{
    lock_take(&reconcile_queue->lock);
    reconcile_queue->is_stopping = true;
    condition_wake_all(&reconcile_queue->asked);
    lock_release(&reconcile_queue->lock);
}

bool reconcile_queue_is_stopping(struct reconcile_queue *reconcile_queue)
{
    bool is = false;

    lock_take(&reconcile_queue->lock);
    is = reconcile_queue->is_stopping;
    lock_release(&reconcile_queue->lock);
    return is;
}

unsigned reconcile_queue_take(struct reconcile_queue *reconcile_queue, int64_t until_ms,
                              struct backend_event events_out[RECONCILE_QUEUE_NEWS_MAX],
                              size_t *n_out)
{
    bool has_time = true;
    unsigned what = 0;

    lock_take(&reconcile_queue->lock);
    while (reconcile_queue->what == 0 && reconcile_queue->n_news == 0 &&
           !reconcile_queue->is_stopping && has_time)
        has_time = condition_wait_until(&reconcile_queue->asked, &reconcile_queue->lock, until_ms);
    what = reconcile_queue->what;
    reconcile_queue->what = 0;
    *n_out = reconcile_queue->n_news;
    memcpy(events_out, reconcile_queue->event, reconcile_queue->n_news * sizeof(events_out[0]));
    reconcile_queue->n_news = 0;
    lock_release(&reconcile_queue->lock);
    return what;
}
