#include "runtime/core/demand.h"

#include "base/text.h"

void demand_init(struct demand *demand, const struct demand_class *first, size_t least, size_t most)
{
    *demand = (struct demand){.most = most, .n = 1};
    demand->entries[0].class = *first;
    demand->entries[0].least = least < most ? least : most;
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

/* True if b should be replaced rather than a. */
static bool is_rather_given(const struct demand_entry *a, const struct demand_entry *b)
{
    if ((a->least == 0) != (b->least == 0))
        return b->least == 0;
    return last_start_ms(b) < last_start_ms(a);
}

/* Returns an entry for a new class; there are more entries than classes with a minimum. */
static struct demand_entry *make_room(struct demand *demand)
{
    size_t given = 0;

    if (demand->n < DEMAND_CLASSES_MAX)
        return &demand->entries[demand->n++];
    for (size_t i = 1; i < demand->n; i++) {
        if (is_rather_given(&demand->entries[given], &demand->entries[i]))
            given = i;
    }
    return &demand->entries[given];
}

static struct demand_entry *find_entry(struct demand *demand, const struct demand_class *class)
{
    for (size_t i = 0; i < demand->n; i++) {
        if (demand_class_equal(&demand->entries[i].class, class))
            return &demand->entries[i];
    }
    return NULL;
}

void demand_set_wants(struct demand *demand, const struct demand_want *wants, size_t n)
{
    for (size_t i = 0; i < demand->n; i++)
        demand->entries[i].least = 0;
    for (size_t i = 0; i < n; i++) {
        struct demand_entry *entry = find_entry(demand, &wants[i].class);

        if (entry == NULL) {
            entry = make_room(demand);
            *entry = (struct demand_entry){.class = wants[i].class};
        }
        entry->least += wants[i].count;
    }
}

bool demand_note(struct demand *demand, const struct demand_class *class, int64_t now_ms)
{
    struct demand_entry *entry = find_entry(demand, class);
    bool is_known = entry != NULL;

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

/* Total left for classes whose recent starts exceed their minimum. */
static size_t count_free(const struct demand *demand)
{
    size_t n_least = 0;

    for (size_t i = 0; i < demand->n; i++)
        n_least += demand->entries[i].least;
    return demand->most > n_least ? demand->most - n_least : 0;
}

void demand_plan(const struct demand *demand, int64_t now_ms, size_t wanted_out[DEMAND_CLASSES_MAX])
{
    size_t left = count_free(demand);

    for (size_t i = 0; i < DEMAND_CLASSES_MAX; i++) {
        const struct demand_entry *entry = &demand->entries[i];
        size_t recent = i < demand->n ? count_recent(entry, now_ms) : 0;
        size_t least = i < demand->n ? entry->least : 0;
        size_t more = recent > least ? recent - least : 0;

        if (more > left)
            more = left;
        wanted_out[i] = least + more;
        left -= more;
    }
}
