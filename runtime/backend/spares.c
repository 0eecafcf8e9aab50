#include "runtime/backend/spares.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"

struct spare {
    enum spare_kind kind;
    bool is_ready;
    char name[SPARE_NAME_BYTES];
};

struct spares {
    struct lock lock; /* guards all below */
    struct spare *items;
    size_t n;
    size_t size;
};

struct spares *spares_new(void)
{
    struct spares *spares = NEW(struct spares);

    lock_init(&spares->lock);
    return spares;
}

void spares_free(struct spares *spares)
{
    if (spares == NULL)
        return;
    lock_done(&spares->lock);
    mem_free(spares->items);
    mem_free(spares);
}

static struct spare *find_locked(struct spares *spares, enum spare_kind kind, const char *name)
    REQUIRES(spares -> lock)
{
    for (size_t i = 0; i < spares->n; i++) {
        if (spares->items[i].kind == kind && text_equal(spares->items[i].name, name))
            return &spares->items[i];
    }
    return NULL;
}

static struct spare *find_ready_locked(struct spares *spares, enum spare_kind kind)
    REQUIRES(spares -> lock)
{
    for (size_t i = 0; i < spares->n; i++) {
        if (spares->items[i].kind == kind && spares->items[i].is_ready)
            return &spares->items[i];
    }
    return NULL;
}

static struct spare *find_or_add_locked(struct spares *spares, enum spare_kind kind,
                                        const char *name) REQUIRES(spares -> lock)
{
    struct spare *spare = find_locked(spares, kind, name);

    if (spare != NULL)
        return spare;
    if (spares->n == spares->size) {
        spares->size = spares->size == 0 ? 16 : 2 * spares->size;
        spares->items = mem_resize(spares->items, spares->size * sizeof(spares->items[0]));
    }
    spare = &spares->items[spares->n++];
    *spare = (struct spare){.kind = kind};
    (void)snprintf(spare->name, sizeof(spare->name), "%s", name);
    return spare;
}

bool spares_take(struct spares *spares, enum spare_kind kind, char name_out[SPARE_NAME_BYTES])
{
    struct spare *spare = NULL;

    lock_take(&spares->lock);
    spare = find_ready_locked(spares, kind);
    if (spare != NULL) {
        spare->is_ready = false;
        (void)snprintf(name_out, SPARE_NAME_BYTES, "%s", spare->name);
    }
    lock_release(&spares->lock);
    return spare != NULL;
}

void spares_hold(struct spares *spares, enum spare_kind kind, const char *name)
{
    lock_take(&spares->lock);
    find_or_add_locked(spares, kind, name)->is_ready = false;
    lock_release(&spares->lock);
}

void spares_give(struct spares *spares, enum spare_kind kind, const char *name)
{
    lock_take(&spares->lock);
    find_or_add_locked(spares, kind, name)->is_ready = true;
    lock_release(&spares->lock);
}

void spares_forget(struct spares *spares, enum spare_kind kind, const char *name)
{
    struct spare *spare = NULL;

    lock_take(&spares->lock);
    spare = find_locked(spares, kind, name);
    if (spare != NULL)
        *spare = spares->items[--spares->n];
    lock_release(&spares->lock);
}

bool spares_knows(struct spares *spares, enum spare_kind kind, const char *name)
{
    bool is_known = false;

    lock_take(&spares->lock);
    is_known = find_locked(spares, kind, name) != NULL;
    lock_release(&spares->lock);
    return is_known;
}

size_t spares_n_ready(struct spares *spares, enum spare_kind kind)
{
    size_t n = 0;

    lock_take(&spares->lock);
    for (size_t i = 0; i < spares->n; i++)
        n += spares->items[i].kind == kind && spares->items[i].is_ready;
    lock_release(&spares->lock);
    return n;
}

void spares_clear(struct spares *spares)
{
    lock_take(&spares->lock);
    spares->n = 0;
    lock_release(&spares->lock);
}
