#include "gateway/core/ticker.h"

#include "base/clock.h"

enum { TICK_MS = 1000 };

static void on_timer(lws_sorted_usec_list_t *timer)
{
    struct ticker *ticker = lws_container_of(timer, struct ticker, timer);
    int64_t due_ms = 0;

    ticker->next_ms = INT64_MAX;
    due_ms = ticker->tick(ticker->owner, clock_monotonic_ms());
    ticker_advance(ticker, due_ms >= 0 ? due_ms : TICK_MS);
}

void ticker_start(struct ticker *ticker)
{
    ticker->next_ms = INT64_MAX;
    ticker_advance(ticker, TICK_MS);
}

void ticker_advance(struct ticker *ticker, int64_t in_ms)
{
    int64_t wait_ms = in_ms < TICK_MS ? in_ms : TICK_MS;
    int64_t at_ms = clock_monotonic_ms() + wait_ms;

    if (at_ms >= ticker->next_ms)
        return;
    ticker->next_ms = at_ms;
    lws_sul_schedule(ticker->lws, 0, &ticker->timer, on_timer, (lws_usec_t)wait_ms * LWS_US_PER_MS);
}
