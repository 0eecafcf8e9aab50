#include "sandbox/http/request_waiters.h"

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/http/server_request.h"

struct request_waiter {
    struct request_waiters *waiters;
    struct server_request *request;
    LIST_ENTRY(request_waiter) entry;
};

static void remove_waiter(struct request_waiter *waiter)
{
    LIST_REMOVE(waiter, entry);
    waiter->waiters->n--;
    mem_free(waiter);
}

static void on_dropped(void *owner)
{
    remove_waiter(owner);
}

int request_waiters_add(struct request_waiters *waiters, struct server_request *request,
                        struct error *err)
{
    struct request_waiter *waiter = NULL;

    if (waiters->n >= MAX_WAITERS)
        return error_set(err, ERROR_RATE_LIMITED, "too many requests are waiting for this");
    waiter = NEW(struct request_waiter);
    waiter->waiters = waiters;
    waiter->request = request;
    LIST_INSERT_HEAD(&waiters->list, waiter, entry);
    waiters->n++;
    request->dropped = on_dropped;
    request->owner = waiter;
    return 0;
}

struct server_request *request_waiters_take(struct request_waiters *waiters)
{
    struct request_waiter *waiter = LIST_FIRST(&waiters->list);
    struct server_request *request = waiter != NULL ? waiter->request : NULL;

    if (waiter != NULL)
        remove_waiter(waiter);
    return request;
}
