#include "runtime/egress/dns_denial_counter.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"

void dns_denial_counter_done(struct dns_denial_counter *counter)
{
    mem_free(counter->items);
    *counter = (struct dns_denial_counter)DNS_DENIAL_COUNTER_INIT;
}

static void merge_entry(struct dns_denial_counter *counter, const struct dns_denial *other)
{
    for (size_t i = 0; i < counter->n; i++) {
        struct dns_denial *entry = &counter->items[i];

        if (entry->bridge_index != other->bridge_index || !text_equal(entry->name, other->name))
            continue;
        entry->count += other->count;
        entry->first_us = other->first_us < entry->first_us ? other->first_us : entry->first_us;
        entry->last_us = other->last_us > entry->last_us ? other->last_us : entry->last_us;
        return;
    }
    if (counter->n == DNS_DENIAL_COUNTER_MAX)
        return;
    if (counter->items == NULL)
        counter->items = mem_alloc_array(DNS_DENIAL_COUNTER_MAX, sizeof(counter->items[0]));
    counter->items[counter->n++] = *other;
}

void dns_denial_counter_note(struct dns_denial_counter *counter, unsigned bridge_index,
                             const char *name, int64_t now_us)
{
    struct dns_denial entry = {
        .bridge_index = bridge_index, .count = 1, .first_us = now_us, .last_us = now_us};

    (void)snprintf(entry.name, sizeof(entry.name), "%s", name);
    merge_entry(counter, &entry);
}

void dns_denial_counter_merge(struct dns_denial_counter *counter,
                              const struct dns_denial_counter *other)
{
    for (size_t i = 0; i < other->n; i++)
        merge_entry(counter, &other->items[i]);
}
