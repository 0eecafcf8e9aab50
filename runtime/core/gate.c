#include "runtime/core/gate.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"

#define STARTS_MAX 1024

struct id_set {
    char (*ids)[RUNTIME_ID_BYTES];
    size_t n;
    size_t size;
};

struct gate {
    struct lock lock; /* guards all below */
    struct condition changed;
    struct id_set held;
    struct id_set queued; /* starts, oldest first */
    struct id_set under_way;
    bool is_closed;
};

static void id_set_add(struct id_set *set, const char *id)
{
    if (set->n == set->size) {
        set->size = set->size == 0 ? 16 : 2 * set->size;
        set->ids = mem_resize(set->ids, set->size * sizeof(set->ids[0]));
    }
    memset(set->ids[set->n], 0, RUNTIME_ID_BYTES);
    memcpy(set->ids[set->n], id, strnlen(id, RUNTIME_ID_BYTES - 1));
    set->n++;
}

static bool id_set_has(const struct id_set *set, const char *id)
{
    for (size_t i = 0; i < set->n; i++) {
        if (text_equal(set->ids[i], id))
            return true;
    }
    return false;
}

static void id_set_remove(struct id_set *set, const char *id)
{
    for (size_t i = 0; i < set->n; i++) {
        if (!text_equal(set->ids[i], id))
            continue;
        memmove(set->ids[i], set->ids[i + 1], (set->n - i - 1) * sizeof(set->ids[0]));
        set->n--;
        return;
    }
}

struct gate *gate_new(void)
{
    struct gate *gate = NEW(struct gate);

    lock_init(&gate->lock);
    condition_init(&gate->changed);
    return gate;
}

void gate_free(struct gate *gate)
{
    if (gate == NULL)
        return;
    mem_free(gate->held.ids);
    mem_free(gate->queued.ids);
    mem_free(gate->under_way.ids);
    condition_done(&gate->changed);
    lock_done(&gate->lock);
    mem_free(gate);
}

struct gate_pass gate_enter(struct gate *gate, const char *id)
{
    struct gate_pass pass = {.gate = gate};

    memcpy(pass.id, id, strnlen(id, RUNTIME_ID_BYTES - 1));
    lock_take(&gate->lock);
    while (id_set_has(&gate->held, pass.id))
        condition_wait(&gate->changed, &gate->lock);
    id_set_add(&gate->held, pass.id);
    lock_release(&gate->lock);
    return pass;
}

void gate_leave(struct gate_pass *pass)
{
    struct gate *gate = pass->gate;

    lock_take(&gate->lock);
    id_set_remove(&gate->held, pass->id);
    condition_wake_all(&gate->changed);
    lock_release(&gate->lock);
}

static bool is_start_known_locked(const struct gate *gate, const char *id) REQUIRES(gate -> lock)
{
    return id_set_has(&gate->queued, id) || id_set_has(&gate->under_way, id);
}

bool gate_is_busy(struct gate *gate, const char *id)
{
    bool is_busy = false;

    lock_take(&gate->lock);
    is_busy = id_set_has(&gate->held, id) || is_start_known_locked(gate, id);
    lock_release(&gate->lock);
    return is_busy;
}

int gate_queue_start(struct gate *gate, const char *id, struct error *err)
{
    bool is_full = false;

    lock_take(&gate->lock);
    is_full = gate->queued.n >= STARTS_MAX;
    if (!is_full && !is_start_known_locked(gate, id)) {
        id_set_add(&gate->queued, id);
        condition_wake_all(&gate->changed);
    }
    lock_release(&gate->lock);
    if (is_full)
        return error_set(err, ERROR_UNAVAILABLE, "too many sandboxes are starting");
    return 0;
}

bool gate_next_start(struct gate *gate, char id_out[RUNTIME_ID_BYTES])
{
    bool has_one = false;

    lock_take(&gate->lock);
    while (gate->queued.n == 0 && !gate->is_closed)
        condition_wait(&gate->changed, &gate->lock);
    has_one = gate->queued.n > 0 && !gate->is_closed;
    if (has_one) {
        memcpy(id_out, gate->queued.ids[0], RUNTIME_ID_BYTES);
        id_set_remove(&gate->queued, id_out);
        id_set_add(&gate->under_way, id_out);
    }
    lock_release(&gate->lock);
    return has_one;
}

void gate_start_done(struct gate *gate, const char *id)
{
    lock_take(&gate->lock);
    id_set_remove(&gate->under_way, id);
    condition_wake_all(&gate->changed);
    lock_release(&gate->lock);
}

bool gate_wait_start(struct gate *gate, const char *id, int64_t deadline_ms)
{
    bool is_over = false;
    bool has_time = true;

    lock_take(&gate->lock);
    while (is_start_known_locked(gate, id) && has_time && !gate->is_closed)
        has_time = condition_wait_until(&gate->changed, &gate->lock, deadline_ms);
    is_over = !is_start_known_locked(gate, id);
    lock_release(&gate->lock);
    return is_over;
}

void gate_wait_calm(struct gate *gate, int64_t deadline_ms)
{
    bool has_time = true;

    lock_take(&gate->lock);
    while (gate->queued.n + gate->under_way.n > 0 && has_time && !gate->is_closed)
        has_time = condition_wait_until(&gate->changed, &gate->lock, deadline_ms);
    lock_release(&gate->lock);
}

void gate_close(struct gate *gate)
{
    lock_take(&gate->lock);
    gate->is_closed = true;
    condition_wake_all(&gate->changed);
    lock_release(&gate->lock);
}
