#include "client/cancel.h"

#include <stddef.h>

#include "base/error.h"
#include "client/http.h"

void cancel_init(struct cancel *cancel)
{
    *cancel = (struct cancel){.is_set = false};
    lock_init(&cancel->lock);
}

void cancel_done(struct cancel *cancel)
{
    lock_done(&cancel->lock);
}

void cancel_set(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->is_set = true;
    if (cancel->current != NULL)
        http_cancel(cancel->current);
    lock_release(&cancel->lock);
}

void cancel_reset(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->is_set = false;
    lock_release(&cancel->lock);
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
    return is_set ? error_set(err, ERROR_CANCELLED, "The call was cancelled") : 0;
}

void cancel_leave(struct cancel *cancel)
{
    lock_take(&cancel->lock);
    cancel->current = NULL;
    lock_release(&cancel->lock);
}
