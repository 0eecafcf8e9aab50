#include "worker/agent/core/run_control.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

/* Grace period of a model call or command after a pause or shutdown request. */
#define GRACE_MS 5000
#define LEASE_LOOK_MS 100

enum interruption { INTERRUPT_NEVER, INTERRUPT_AFTER_GRACE, INTERRUPT_NOW };

/*
 * Which stop may interrupt which wait. On a pause a command runs to its end; on a hand-over it
 * continues in its sandbox, where the next worker finds it.
 */
static const enum interruption interruptions[STOP_N_KINDS][WAIT_N_KINDS] = {
    [STOP_HAND_OVER] = {[WAIT_MODEL] = INTERRUPT_AFTER_GRACE,
                        [WAIT_SANDBOX] = INTERRUPT_NOW,
                        [WAIT_TOOL] = INTERRUPT_AFTER_GRACE},
    [STOP_PAUSE] = {[WAIT_MODEL] = INTERRUPT_AFTER_GRACE,
                    [WAIT_SANDBOX] = INTERRUPT_AFTER_GRACE,
                    [WAIT_TOOL] = INTERRUPT_NEVER},
    [STOP_INTERRUPT] =
        {[WAIT_MODEL] = INTERRUPT_NOW, [WAIT_SANDBOX] = INTERRUPT_NOW, [WAIT_TOOL] = INTERRUPT_NOW},
    [STOP_LOST] =
        {[WAIT_MODEL] = INTERRUPT_NOW, [WAIT_SANDBOX] = INTERRUPT_NOW, [WAIT_TOOL] = INTERRUPT_NOW},
};

void run_control_init(struct run_control *control, int64_t lease_until_ms)
{
    lock_init(&control->lock);
    condition_init(&control->changed);
    control->stop = STOP_NONE;
    control->stop_at_ms = 0;
    control->lease_until_ms = lease_until_ms;
    control->cancel = NULL;
    control->waited = NULL;
    control->wait = WAIT_MODEL;
}

void run_control_done(struct run_control *control)
{
    condition_done(&control->changed);
    lock_done(&control->lock);
}

static bool run_control_cuts_locked(const struct run_control *control, enum wait_kind wait)
    REQUIRES(control -> lock);

static bool run_control_cuts_locked(const struct run_control *control, enum wait_kind wait)
{
    enum interruption interruption = interruptions[control->stop][wait];

    if (interruption == INTERRUPT_AFTER_GRACE)
        return clock_monotonic_ms() - control->stop_at_ms >= GRACE_MS;
    return interruption == INTERRUPT_NOW;
}

static void run_control_wake_locked(struct run_control *control) REQUIRES(control -> lock);

static void run_control_wake_locked(struct run_control *control)
{
    if (control->cancel != NULL && run_control_cuts_locked(control, control->wait))
        control->cancel(control->waited);
}

void run_control_request(struct run_control *control, enum stop_kind stop)
{
    lock_take(&control->lock);
    if (stop > control->stop) {
        control->stop = stop;
        control->stop_at_ms = clock_monotonic_ms();
        run_control_wake_locked(control);
        condition_wake_all(&control->changed);
    }
    lock_release(&control->lock);
}

void run_control_request_word(struct run_control *control, const char *word)
{
    if (text_equal(word, "pause"))
        run_control_request(control, STOP_PAUSE);
    else if (text_equal(word, "interrupt"))
        run_control_request(control, STOP_INTERRUPT);
}

void run_control_tick(struct run_control *control)
{
    lock_take(&control->lock);
    run_control_wake_locked(control);
    lock_release(&control->lock);
}

enum stop_kind run_control_stop(struct run_control *control)
{
    enum stop_kind stop = STOP_NONE;

    lock_take(&control->lock);
    stop = control->stop;
    lock_release(&control->lock);
    return stop;
}

void run_control_renew(struct run_control *control, int64_t until_ms)
{
    lock_take(&control->lock);
    control->lease_until_ms = until_ms;
    condition_wake_all(&control->changed);
    lock_release(&control->lock);
}

bool run_control_has_lease(struct run_control *control)
{
    bool has_lease = false;

    lock_take(&control->lock);
    has_lease = control->stop != STOP_LOST && clock_monotonic_ms() < control->lease_until_ms;
    lock_release(&control->lock);
    return has_lease;
}

int run_control_begin_wait(struct run_control *control, enum wait_kind wait,
                           void (*cancel)(void *what), void *what, struct error *err)
{
    bool is_cut = false;

    lock_take(&control->lock);
    is_cut = run_control_cuts_locked(control, wait);
    if (!is_cut) {
        control->wait = wait;
        control->waited = what;
        control->cancel = cancel;
    }
    lock_release(&control->lock);
    if (is_cut)
        return error_set(err, ERROR_CANCELLED, "a stop was requested");
    return 0;
}

void run_control_end_wait(struct run_control *control)
{
    lock_take(&control->lock);
    control->cancel = NULL;
    lock_release(&control->lock);
}

int run_control_sleep(struct run_control *control, int64_t ms, struct error *err)
{
    int64_t deadline_ms = clock_monotonic_ms() + ms;
    enum stop_kind stop_before = STOP_NONE;
    int64_t lease_before = 0;
    bool is_lost = false;

    lock_take(&control->lock);
    stop_before = control->stop;
    lease_before = control->lease_until_ms;
    while (control->stop == stop_before && control->lease_until_ms == lease_before) {
        if (!condition_wait_until(&control->changed, &control->lock, deadline_ms))
            break;
    }
    is_lost = control->stop == STOP_LOST;
    lock_release(&control->lock);
    if (is_lost)
        return error_set(err, ERROR_STALE, "the lease is lost");
    return 0;
}

int run_control_wait_for_lease(struct run_control *control, struct error *err)
{
    while (!run_control_has_lease(control)) {
        if (run_control_sleep(control, LEASE_LOOK_MS, err) < 0)
            return -1;
    }
    return 0;
}
