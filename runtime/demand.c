#include "runtime/demand.h"

#include "base/text.h"

void demand_init(struct demand *demand, const struct demand_class *first, size_t least, size_t most)
{
    *demand = (struct demand){.least = least < most ? least : most, .most = most, .n = 1};
    demand->entries[0].class = *first;
}

bool demand_class_equal(const struct demand_class *a, const struct demand_class *b)
{
    return a->memory_bytes == b->memory_bytes && a->nano_cpus == b->nano_cpus &&
           text_equal(a->image, b->image);
}

static int64_t last_start_ms(const struct demand_entry *entry)
{
    return entry->starts_ms[(entry->next + DEMAND_STARTS_MAX - 1) % DEMAND_STARTS_MAX];
}

/* A place for a class that is not known yet; the first one is never given away. */
static struct demand_entry *make_room(struct demand *demand)
{
    size_t oldest = 1;

    if (demand->n < DEMAND_CLASSES_MAX)
        return &demand->entries[demand->n++];
    for (size_t i = 2; i < demand->n; i++) {
        if (last_start_ms(&demand->entries[i]) < last_start_ms(&demand->entries[oldest]))
            oldest = i;
    }
    return &demand->entries[oldest];
}

bool demand_note(struct demand *demand, const struct demand_class *class, int64_t now_ms)
{
    struct demand_entry *entry = NULL;
    bool is_known = false;

    for (size_t i = 0; i < demand->n && entry == NULL; i++) {
        if (demand_class_equal(&demand->entries[i].class, class))
            entry = &demand->entries[i];
    }
    is_known = entry != NULL;
    if (!is_known) {
        entry = make_room(demand);
        *entry = (struct demand_entry){.class = *class};
    }
    entry->starts_ms[entry->next] = now_ms;
    entry->next = (entry->next + 1) % DEMAND_STARTS_MAX;
    return is_known;
}

static size_t count_recent(const struct demand_entry *entry, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < DEMAND_STARTS_MAX; i++)
        n += entry->starts_ms[i] > 0 && now_ms - entry->starts_ms[i] < DEMAND_WINDOW_MS;
    return n;
}

void demand_plan(const struct demand *demand, int64_t now_ms, size_t wanted_out[DEMAND_CLASSES_MAX])
{
    size_t left = demand->most;

    for (size_t i = 0; i < DEMAND_CLASSES_MAX; i++) {
        size_t wanted = i < demand->n ? count_recent(&demand->entries[i], now_ms) : 0;

        if (i == 0 && wanted < demand->least)
            wanted = demand->least;
        wanted_out[i] = wanted < left ? wanted : left;
        left -= wanted_out[i];
    }
}
