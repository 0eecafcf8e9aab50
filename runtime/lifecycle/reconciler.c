#include "runtime/lifecycle/reconciler.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"

struct reconciler {
    struct lock lock; /* guards all below */
    struct condition asked;
    unsigned what;
    bool is_stopping;
    struct news news[RECONCILER_NEWS_MAX];
    size_t n_news;
};

struct reconciler *reconciler_new(void)
{
    struct reconciler *reconciler = NEW(struct reconciler);

    lock_init(&reconciler->lock);
    condition_init(&reconciler->asked);
    return reconciler;
}

void reconciler_free(struct reconciler *reconciler)
{
    if (reconciler == NULL)
        return;
    condition_done(&reconciler->asked);
    lock_done(&reconciler->lock);
    mem_free(reconciler);
}

void reconciler_ask(struct reconciler *reconciler, unsigned what)
{
    lock_take(&reconciler->lock);
    reconciler->what |= what;
    condition_wake_all(&reconciler->asked);
    lock_release(&reconciler->lock);
}

/* Events that do not fit are made up for by a check of everything. */
void reconciler_tell(struct reconciler *reconciler, const struct news *news)
{
    lock_take(&reconciler->lock);
    if (reconciler->n_news < RECONCILER_NEWS_MAX)
        reconciler->news[reconciler->n_news++] = *news;
    else
        reconciler->what |= RECONCILE_ALL;
    condition_wake_all(&reconciler->asked);
    lock_release(&reconciler->lock);
}

void reconciler_stop(struct reconciler *reconciler)
{
    lock_take(&reconciler->lock);
    reconciler->is_stopping = true;
    condition_wake_all(&reconciler->asked);
    lock_release(&reconciler->lock);
}

bool reconciler_is_stopping(struct reconciler *reconciler)
{
    bool is = false;

    lock_take(&reconciler->lock);
    is = reconciler->is_stopping;
    lock_release(&reconciler->lock);
    return is;
}

unsigned reconciler_take(struct reconciler *reconciler, int64_t until_ms,
                         struct news news_out[RECONCILER_NEWS_MAX], size_t *n_out)
{
    bool has_time = true;
    unsigned what = 0;

    lock_take(&reconciler->lock);
    while (reconciler->what == 0 && reconciler->n_news == 0 && !reconciler->is_stopping && has_time)
        has_time = condition_wait_until(&reconciler->asked, &reconciler->lock, until_ms);
    what = reconciler->what;
    reconciler->what = 0;
    *n_out = reconciler->n_news;
    memcpy(news_out, reconciler->news, reconciler->n_news * sizeof(news_out[0]));
    reconciler->n_news = 0;
    lock_release(&reconciler->lock);
    return what;
}
