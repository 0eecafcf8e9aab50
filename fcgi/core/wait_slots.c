#include "fcgi/core/wait_slots.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"

/* A user and its number of slots; 0: the entry is free. */
struct slot_holder {
    struct uuid user;
    size_t n;
};

struct wait_slots {
    struct lock lock; /* guards all below */
    size_t n_slots;
    size_t n_taken;
    struct slot_holder *holders; /* as many entries as slots: each user listed has at least one */
};

struct wait_slots *wait_slots_new(size_t n_slots)
{
    struct wait_slots *slots = NEW(struct wait_slots);

    lock_init(&slots->lock);
    slots->n_slots = n_slots;
    slots->holders = mem_alloc_array(n_slots, sizeof(*slots->holders));
    for (size_t i = 0; i < n_slots; i++)
        slots->holders[i] = (struct slot_holder){.n = 0};
    return slots;
}

void wait_slots_free(struct wait_slots *slots)
{
    if (slots == NULL)
        return;
    lock_done(&slots->lock);
    mem_free(slots->holders);
    mem_free(slots);
}

/* The user's entry, else a free one; NULL when there is neither. */
static struct slot_holder *find_locked(struct wait_slots *slots, const struct uuid *user)
    REQUIRES(slots -> lock);

static struct slot_holder *find_locked(struct wait_slots *slots, const struct uuid *user)
{
    struct slot_holder *unused = NULL;

    for (size_t i = 0; i < slots->n_slots; i++) {
        struct slot_holder *holder = &slots->holders[i];

        if (holder->n > 0 && text_equal(holder->user.text, user->text))
            return holder;
        if (holder->n == 0 && unused == NULL)
            unused = holder;
    }
    return unused;
}

static size_t share_of(const struct wait_slots *slots)
{
    return (3 * slots->n_slots + 3) / 4;
}

int wait_slot_take(struct wait_slots *slots, const struct uuid *user, struct error *err)
{
    struct slot_holder *holder = NULL;
    bool is_full = true;
    bool has_share = false;

    lock_take(&slots->lock);
    holder = find_locked(slots, user);
    if (holder != NULL) {
        is_full = slots->n_taken >= slots->n_slots;
        has_share = holder->n < share_of(slots);
    }
    if (!is_full && has_share) {
        holder->user = *user;
        holder->n++;
        slots->n_taken++;
    }
    lock_release(&slots->lock);
    if (is_full)
        return error_set(err, ERROR_UNAVAILABLE, "too many requests are already waiting");
    return has_share
               ? 0
               : error_set(err, ERROR_RATE_LIMITED,
                           "Too many of your requests are already waiting; try again in a moment");
}

void wait_slot_return(struct wait_slots *slots, const struct uuid *user)
{
    struct slot_holder *holder = NULL;

    lock_take(&slots->lock);
    holder = find_locked(slots, user);
    if (holder != NULL && holder->n > 0) {
        holder->n--;
        slots->n_taken--;
    }
    lock_release(&slots->lock);
}
