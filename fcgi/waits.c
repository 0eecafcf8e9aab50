#include "fcgi/waits.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"

/* A user and its number of slots; 0: the entry is free. */
struct waiter {
    struct uuid user;
    size_t n;
};

struct waits {
    struct lock lock; /* guards all below */
    size_t n_places;
    size_t n_taken;
    struct waiter *waiters; /* as many entries as slots: each user listed has at least one */
};

struct waits *waits_new(size_t n_places)
{
    struct waits *waits = NEW(struct waits);

    lock_init(&waits->lock);
    waits->n_places = n_places;
    waits->waiters = mem_alloc_array(n_places, sizeof(*waits->waiters));
    for (size_t i = 0; i < n_places; i++)
        waits->waiters[i] = (struct waiter){.n = 0};
    return waits;
}

void waits_free(struct waits *waits)
{
    if (waits == NULL)
        return;
    lock_done(&waits->lock);
    mem_free(waits->waiters);
    mem_free(waits);
}

/* The user's entry, else a free one; NULL when there is neither. */
static struct waiter *find_locked(struct waits *waits, const struct uuid *user)
    REQUIRES(waits -> lock);

static struct waiter *find_locked(struct waits *waits, const struct uuid *user)
{
    struct waiter *unused = NULL;

    for (size_t i = 0; i < waits->n_places; i++) {
        struct waiter *waiter = &waits->waiters[i];

        if (waiter->n > 0 && text_equal(waiter->user.text, user->text))
            return waiter;
        if (waiter->n == 0 && unused == NULL)
            unused = waiter;
    }
    return unused;
}

static size_t share_of(const struct waits *waits)
{
    return (3 * waits->n_places + 3) / 4;
}

int waits_begin(struct waits *waits, const struct uuid *user, struct error *err)
{
    struct waiter *waiter = NULL;
    bool is_full = true;
    bool has_share = false;

    lock_take(&waits->lock);
    waiter = find_locked(waits, user);
    if (waiter != NULL) {
        is_full = waits->n_taken >= waits->n_places;
        has_share = waiter->n < share_of(waits);
    }
    if (!is_full && has_share) {
        waiter->user = *user;
        waiter->n++;
        waits->n_taken++;
    }
    lock_release(&waits->lock);
    if (is_full)
        return error_set(err, ERROR_UNAVAILABLE, "too many requests wait already");
    return has_share ? 0
                     : error_set(err, ERROR_RATE_LIMITED,
                                 "Too many of your requests wait already; try again in a moment");
}

void waits_end(struct waits *waits, const struct uuid *user)
{
    struct waiter *waiter = NULL;

    lock_take(&waits->lock);
    waiter = find_locked(waits, user);
    if (waiter != NULL && waiter->n > 0) {
        waiter->n--;
        waits->n_taken--;
    }
    lock_release(&waits->lock);
}
