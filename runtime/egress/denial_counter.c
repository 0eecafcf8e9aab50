#include "runtime/egress/denial_counter.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/text.h"

#define X(constant, text) [constant] = (text),
static const char *const reason_texts[DENIED_N_REASONS] = {DENIAL_REASONS(X)};
#undef X

const char *denial_reason_to_string(enum denial_reason reason)
{
    return reason_texts[reason];
}

enum denial_reason denial_reason_from_string(const char *text)
{
    for (int i = 0; i < DENIED_N_REASONS; i++) {
        if (text_equal(text, reason_texts[i]))
            return (enum denial_reason)i;
    }
    return DENIED_N_REASONS;
}

void denial_counter_done(struct denial_counter *counter)
{
    mem_free(counter->items);
    *counter = (struct denial_counter)DENIAL_COUNTER_INIT;
}

static bool is_same(const struct denied_packet *a, const struct denied_packet *b)
{
    return a->bridge_index == b->bridge_index && a->address_be == b->address_be &&
           a->port == b->port && a->protocol == b->protocol && a->reason == b->reason;
}

static struct denial *find_denial(struct denial_counter *counter,
                                  const struct denied_packet *packet)
{
    for (size_t i = 0; i < counter->n; i++) {
        if (is_same(&counter->items[i].packet, packet))
            return &counter->items[i];
    }
    return NULL;
}

static struct denial *add(struct denial_counter *counter)
{
    if (counter->n == DENIAL_COUNTER_MAX)
        return NULL;
    if (counter->items == NULL)
        counter->items = mem_alloc_array(DENIAL_COUNTER_MAX, sizeof(counter->items[0]));
    return &counter->items[counter->n++];
}

static void merge_entry(struct denial_counter *counter, const struct denial *other)
{
    struct denial *entry = find_denial(counter, &other->packet);

    if (entry == NULL) {
        entry = add(counter);
        if (entry == NULL)
            counter->n_lost += other->count;
        else
            *entry = *other;
        return;
    }
    entry->count += other->count;
    if (other->first_us < entry->first_us)
        entry->first_us = other->first_us;
    if (other->last_us > entry->last_us)
        entry->last_us = other->last_us;
}

void denial_counter_note(struct denial_counter *counter, const struct denied_packet *packet,
                         int64_t now_us)
{
    const struct denial entry = {
        .packet = *packet, .count = 1, .first_us = now_us, .last_us = now_us};

    merge_entry(counter, &entry);
}

void denial_counter_merge(struct denial_counter *counter, const struct denial_counter *other)
{
    counter->n_lost += other->n_lost;
    for (size_t i = 0; i < other->n; i++)
        merge_entry(counter, &other->items[i]);
}
