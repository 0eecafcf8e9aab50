#include "worker/agent/calls/call_plan.h"

#include <stdbool.h>

#include "base/mem.h"

/* Calls behind the first open one that may overtake it: an answer may have thousands. */
enum { LOOK_AHEAD = 64 };

void call_plan_init(struct call_plan *plan, size_t n, size_t limit)
{
    *plan = (struct call_plan){
        .calls = mem_alloc_array(n, sizeof(*plan->calls)), .n = n, .limit = limit};
}

void call_plan_done(struct call_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->n; i++)
        resource_keys_done(&plan->calls[i].keys);
    mem_free(plan->calls);
    *plan = (struct call_plan){.calls = NULL};
}

/* The end of the window in which calls run. */
static size_t window_end(const struct call_plan *plan)
{
    return plan->n - plan->n_over > LOOK_AHEAD ? plan->n_over + LOOK_AHEAD : plan->n;
}

static size_t count_running(const struct call_plan *plan)
{
    size_t n = 0;

    for (size_t i = plan->n_over; i < window_end(plan); i++)
        n += plan->calls[i].progress == CALL_RUNNING;
    return n;
}

static bool exclude_each_other(const struct planned_call *a, const struct planned_call *b)
{
    return a->company != b->company || a->company == COMPANY_OF_NONE ||
           resource_keys_overlap(&a->keys, &b->keys);
}

/* True if the call need not wait for one before it. */
static bool may_start(const struct call_plan *plan, size_t index)
{
    const struct planned_call *call = &plan->calls[index];

    for (size_t i = plan->n_over; i < index; i++) {
        const struct planned_call *earlier = &plan->calls[i];

        if (earlier->progress != CALL_OVER && exclude_each_other(call, earlier))
            return false;
    }
    return true;
}

size_t call_plan_next(struct call_plan *plan)
{
    while (plan->n_over < plan->n && plan->calls[plan->n_over].progress == CALL_OVER)
        plan->n_over++;
    if (count_running(plan) >= plan->limit)
        return plan->n;
    for (size_t i = plan->n_over; i < window_end(plan); i++) {
        if (plan->calls[i].progress == CALL_WAITING && may_start(plan, i))
            return i;
    }
    return plan->n;
}
