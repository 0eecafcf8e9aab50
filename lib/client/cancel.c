#include "client/cancel.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/http.h"

void cancel_init(struct cancel *cancel)
{
    *cancel = (struct cancel){.is_set = false};
    lock_init(&cancel->lock);
    condition_init(&cancel->changed);
}

void cancel_done(struct cancel *cancel)
{
    condition_done(&cancel->changed);
    lock_done(&cancel->lock);
}

void cancel_set(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->is_set = true;
    if (cancel->current != NULL)
        http_cancel(cancel->current);
    condition_wake_all(&cancel->changed);
    lock_release(&cancel->lock);
}

void cancel_reset(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->is_set = false;
    lock_release(&cancel->lock);
}

static int cancelled(struct error *err)
{
    return error_set(err, ERROR_CANCELLED, "The call was cancelled");
}

int cancel_enter(struct cancel *cancel, struct http_call *call, struct error *err)
{
    bool is_set = false;

    lock_take(&cancel->lock);
    is_set = cancel->is_set;
    cancel->current = is_set ? NULL : call;
    /* A stream that is read in turns may come here again. */
    if (is_set && call != NULL)
        http_cancel(call);
    lock_release(&cancel->lock);
    return is_set ? cancelled(err) : 0;
}

void cancel_leave(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->current = NULL;
    lock_release(&cancel->lock);
}

int cancel_wait(struct cancel *cancel, int64_t ms, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + ms;
    bool is_set = false;

    lock_take(&cancel->lock);
    while (!cancel->is_set && condition_wait_until(&cancel->changed, &cancel->lock, deadline_ms))
        ;
    is_set = cancel->is_set;
    lock_release(&cancel->lock);
    return is_set ? cancelled(err) : 0;
}
