#include "runtime/backend/prealloc.h"

#include <stdio.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"

struct prealloc_item {
    enum prealloc_kind kind;
    bool is_ready;
    char name[PREALLOC_NAME_BYTES];
};

struct prealloc {
    struct lock lock; /* guards all below */
    struct prealloc_item *items;
    size_t n;
    size_t size;
};

struct prealloc *prealloc_new(void)
{
    struct prealloc *prealloc = NEW(struct prealloc);

    lock_init(&prealloc->lock);
    return prealloc;
}

void prealloc_free(struct prealloc *prealloc)
{
    if (prealloc == NULL)
        return;
    lock_done(&prealloc->lock);
    mem_free(prealloc->items);
    mem_free(prealloc);
}

static struct prealloc_item *find_locked(struct prealloc *prealloc, enum prealloc_kind kind,
                                         const char *name) REQUIRES(prealloc -> lock)
{
    for (size_t i = 0; i < prealloc->n; i++) {
        if (prealloc->items[i].kind == kind && text_equal(prealloc->items[i].name, name))
            return &prealloc->items[i];
    }
    return NULL;
}

static struct prealloc_item *find_ready_locked(struct prealloc *prealloc, enum prealloc_kind kind)
    REQUIRES(prealloc -> lock)
{
    for (size_t i = 0; i < prealloc->n; i++) {
        if (prealloc->items[i].kind == kind && prealloc->items[i].is_ready)
            return &prealloc->items[i];
    }
    return NULL;
}

static struct prealloc_item *find_or_add_locked(struct prealloc *prealloc, enum prealloc_kind kind,
                                                const char *name) REQUIRES(prealloc -> lock)
{
    struct prealloc_item *item = find_locked(prealloc, kind, name);

    if (item != NULL)
        return item;
    if (prealloc->n == prealloc->size) {
        prealloc->size = prealloc->size == 0 ? 16 : 2 * prealloc->size;
        prealloc->items = mem_resize(prealloc->items, prealloc->size * sizeof(prealloc->items[0]));
    }
    item = &prealloc->items[prealloc->n++];
    *item = (struct prealloc_item){.kind = kind};
    (void)snprintf(item->name, sizeof(item->name), "%s", name);
    return item;
}

bool prealloc_take(struct prealloc *prealloc, enum prealloc_kind kind,
                   char name_out[PREALLOC_NAME_BYTES])
{
    struct prealloc_item *item = NULL;

    lock_take(&prealloc->lock);
    item = find_ready_locked(prealloc, kind);
    if (item != NULL) {
        item->is_ready = false;
        (void)snprintf(name_out, PREALLOC_NAME_BYTES, "%s", item->name);
    }
    lock_release(&prealloc->lock);
    return item != NULL;
}

void prealloc_add_used(struct prealloc *prealloc, enum prealloc_kind kind, const char *name)
{
    lock_take(&prealloc->lock);
    find_or_add_locked(prealloc, kind, name)->is_ready = false;
    lock_release(&prealloc->lock);
}

void prealloc_add_ready(struct prealloc *prealloc, enum prealloc_kind kind, const char *name)
{
    lock_take(&prealloc->lock);
    find_or_add_locked(prealloc, kind, name)->is_ready = true;
    lock_release(&prealloc->lock);
}

void prealloc_forget(struct prealloc *prealloc, enum prealloc_kind kind, const char *name)
{
    struct prealloc_item *item = NULL;

    lock_take(&prealloc->lock);
    item = find_locked(prealloc, kind, name);
    if (item != NULL)
        *item = prealloc->items[--prealloc->n];
    lock_release(&prealloc->lock);
}

bool prealloc_has(struct prealloc *prealloc, enum prealloc_kind kind, const char *name)
{
    bool is_known = false;

    lock_take(&prealloc->lock);
    is_known = find_locked(prealloc, kind, name) != NULL;
    lock_release(&prealloc->lock);
    return is_known;
}

size_t prealloc_n_ready(struct prealloc *prealloc, enum prealloc_kind kind)
{
    size_t n = 0;

    lock_take(&prealloc->lock);
    for (size_t i = 0; i < prealloc->n; i++)
        n += prealloc->items[i].kind == kind && prealloc->items[i].is_ready;
    lock_release(&prealloc->lock);
    return n;
}

void prealloc_clear(struct prealloc *prealloc)
{
    lock_take(&prealloc->lock);
    prealloc->n = 0;
    lock_release(&prealloc->lock);
}
