#include "runtime/egress/name_tally.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"

void name_tally_done(struct name_tally *tally)
{
    mem_free(tally->items);
    *tally = (struct name_tally)NAME_TALLY_INIT;
}

static void merge_entry(struct name_tally *tally, const struct name_entry *other)
{
    for (size_t i = 0; i < tally->n; i++) {
        struct name_entry *entry = &tally->items[i];

        if (entry->bridge_index != other->bridge_index || !text_equal(entry->name, other->name))
            continue;
        entry->count += other->count;
        entry->first_us = other->first_us < entry->first_us ? other->first_us : entry->first_us;
        entry->last_us = other->last_us > entry->last_us ? other->last_us : entry->last_us;
        return;
    }
    if (tally->n == NAME_TALLY_MAX)
        return;
    if (tally->items == NULL)
        tally->items = mem_alloc_array(NAME_TALLY_MAX, sizeof(tally->items[0]));
    tally->items[tally->n++] = *other;
}

void name_tally_note(struct name_tally *tally, unsigned bridge_index, const char *name,
                     int64_t now_us)
{
    struct name_entry entry = {
        .bridge_index = bridge_index, .count = 1, .first_us = now_us, .last_us = now_us};

    (void)snprintf(entry.name, sizeof(entry.name), "%s", name);
    merge_entry(tally, &entry);
}

void name_tally_merge(struct name_tally *tally, const struct name_tally *other)
{
    for (size_t i = 0; i < other->n; i++)
        merge_entry(tally, &other->items[i]);
}
