#include "sandbox/bash/bash_waits.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "sandbox/bash/bash_events.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/event_loop.h"
#include "sandbox/http/server_request.h"

struct bash_wait {
    struct bash_wait *next;
    struct bash_waits *waits;
    struct server_request *request;
    char scope[BASH_SCOPE_BYTES];
    struct bash_query query;
    struct event_loop_timer timer;
};

struct bash_waits {
    struct event_loop *loop;
    struct bash_events *events;
    struct bash_wait *first;
    size_t n;
};

static void wait_free(struct bash_wait *wait)
{
    struct bash_waits *waits = wait->waits;
    struct bash_wait **link = &waits->first;

    while (*link != wait)
        link = &(*link)->next;
    *link = wait->next;
    waits->n--;
    event_loop_timer_clear(waits->loop, &wait->timer);
    mem_free(wait);
}

static void answer_search(const struct bash_waits *waits, struct server_request *request,
                          const struct bash_query *query)
{
    json_auto_t *page = bash_events_search(waits->events, query);

    server_request_answer_json(request, 200, page);
}

static void end_wait(struct bash_wait *wait)
{
    struct server_request *request = wait->request;

    answer_search(wait->waits, request, &wait->query);
    wait_free(wait);
}

static void on_time(void *owner)
{
    end_wait(owner);
}

static void on_dropped(void *owner)
{
    wait_free(owner);
}

static void on_added(void *owner)
{
    struct bash_waits *waits = owner;
    struct bash_wait *next = NULL;

    for (struct bash_wait *wait = waits->first; wait != NULL; wait = next) {
        next = wait->next;
        if (bash_events_newest_fits(waits->events, &wait->query))
            end_wait(wait);
    }
}

struct bash_waits *bash_waits_new(struct event_loop *loop, struct bash_events *events)
{
    struct bash_waits *waits = NEW(struct bash_waits);

    waits->loop = loop;
    waits->events = events;
    bash_events_listen(events, &(const struct bash_listener){waits, on_added});
    return waits;
}

void bash_waits_free(struct bash_waits *waits)
{
    if (waits == NULL)
        return;
    bash_events_listen(waits->events, &(const struct bash_listener){NULL, NULL});
    while (waits->first != NULL)
        wait_free(waits->first);
    mem_free(waits);
}

void bash_waits_add(struct bash_waits *waits, struct server_request *request,
                    const struct bash_query *query, int64_t wait_ms)
{
    struct bash_wait *wait = NULL;

    if (waits->n >= MAX_BASH_WAITS) {
        answer_search(waits, request, query);
        return;
    }
    wait = NEW(struct bash_wait);
    wait->waits = waits;
    wait->request = request;
    memcpy(wait->scope, query->scope, strnlen(query->scope, BASH_SCOPE_BYTES - 1));
    wait->query = *query;
    wait->query.scope = wait->scope;
    wait->timer = (struct event_loop_timer){.expired = on_time, .owner = wait};
    wait->next = waits->first;
    waits->first = wait;
    waits->n++;
    request->dropped = on_dropped;
    request->owner = wait;
    event_loop_timer_set(waits->loop, &wait->timer, wait_ms);
}
