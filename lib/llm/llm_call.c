#include "llm/llm_call.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/http.h"

struct llm *llm_new(const struct llm_options *options)
{
    struct llm *llm = NEW(struct llm);

    llm->options = *options;
    if (options->scripted_dir != NULL)
        llm->scripted_dir = mem_dup_text(options->scripted_dir);
    llm->options.scripted_dir = llm->scripted_dir;
    return llm;
}

void llm_free(struct llm *llm)
{
    if (llm == NULL)
        return;
    mem_free(llm->scripted_dir);
    mem_free(llm);
}

struct llm_call *llm_call_new(const struct llm *llm)
{
    struct llm_call *call = NEW(struct llm_call);

    call->llm = llm;
    lock_init(&call->lock);
    condition_init(&call->cancelled);
    return call;
}

void llm_call_free(struct llm_call *call)
{
    if (call == NULL)
        return;
    condition_done(&call->cancelled);
    lock_done(&call->lock);
    mem_free(call);
}

void llm_call_freep(struct llm_call **call)
{
    llm_call_free(*call);
    *call = NULL;
}

/* --- cancellation --- */

void llm_call_cancel(struct llm_call *call)
{
    lock_take(&call->lock);
    call->is_cancelled = true;
    if (call->http != NULL)
        http_cancel(call->http);
    condition_wake_all(&call->cancelled);
    lock_release(&call->lock);
}

void llm_call_watch(struct llm_call *call, struct http_call *http)
{
    lock_take(&call->lock);
    call->http = http;
    if (http != NULL && call->is_cancelled)
        http_cancel(http);
    lock_release(&call->lock);
}

bool llm_call_sleep(struct llm_call *call, int64_t wait_ms)
{
    int64_t deadline_ms = clock_monotonic_ms() + wait_ms;
    bool is_waiting = wait_ms > 0;
    bool is_cancelled = false;

    lock_take(&call->lock);
    while (is_waiting && !call->is_cancelled)
        is_waiting = condition_wait_until(&call->cancelled, &call->lock, deadline_ms);
    is_cancelled = call->is_cancelled;
    lock_release(&call->lock);
    return !is_cancelled;
}
