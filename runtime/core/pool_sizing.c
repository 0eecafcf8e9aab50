#include "runtime/core/pool_sizing.h"

#include "base/text.h"

void pool_sizing_init(struct pool_sizing *sizing, const struct pool_class *first, size_t least,
                      size_t most)
{
    *sizing = (struct pool_sizing){.most = most, .n = 1};
    sizing->entries[0].class = *first;
    sizing->entries[0].least = least < most ? least : most;
}

bool pool_class_equal(const struct pool_class *a, const struct pool_class *b)
{
    return a->memory_bytes == b->memory_bytes && a->nano_cpus == b->nano_cpus &&
           text_equal(a->image, b->image);
}

static int64_t last_start_ms(const struct pool_class_starts *entry)
{
    return entry->starts_ms[(entry->next + POOL_STARTS_MAX - 1) % POOL_STARTS_MAX];
}

/* True if b should be replaced rather than a. */
static bool is_rather_given(const struct pool_class_starts *a, const struct pool_class_starts *b)
{
    if ((a->least == 0) != (b->least == 0))
        return b->least == 0;
    return last_start_ms(b) < last_start_ms(a);
}

/* Returns an entry for a new class; there are more entries than classes with a minimum. */
static struct pool_class_starts *make_room(struct pool_sizing *sizing)
{
    size_t given = 0;

    if (sizing->n < POOL_CLASSES_MAX)
        return &sizing->entries[sizing->n++];
    for (size_t i = 1; i < sizing->n; i++) {
        if (is_rather_given(&sizing->entries[given], &sizing->entries[i]))
            given = i;
    }
    return &sizing->entries[given];
}

static struct pool_class_starts *find_entry(struct pool_sizing *sizing,
                                            const struct pool_class *class)
{
    for (size_t i = 0; i < sizing->n; i++) {
        if (pool_class_equal(&sizing->entries[i].class, class))
            return &sizing->entries[i];
    }
    return NULL;
}

void pool_sizing_set_minimums(struct pool_sizing *sizing, const struct pool_minimum *wants,
                              size_t n)
{
    for (size_t i = 0; i < sizing->n; i++)
        sizing->entries[i].least = 0;
    for (size_t i = 0; i < n; i++) {
        struct pool_class_starts *entry = find_entry(sizing, &wants[i].class);

        if (entry == NULL) {
            entry = make_room(sizing);
            *entry = (struct pool_class_starts){.class = wants[i].class};
        }
        entry->least += wants[i].count;
    }
}

bool pool_sizing_record_start(struct pool_sizing *sizing, const struct pool_class *class,
                              int64_t now_ms)
{
    struct pool_class_starts *entry = find_entry(sizing, class);
    bool is_known = entry != NULL;

    if (!is_known) {
        entry = make_room(sizing);
        *entry = (struct pool_class_starts){.class = *class};
    }
    entry->starts_ms[entry->next] = now_ms;
    entry->next = (entry->next + 1) % POOL_STARTS_MAX;
    return is_known;
}

static size_t count_recent(const struct pool_class_starts *entry, int64_t now_ms)
{
    size_t n = 0;

    for (size_t i = 0; i < POOL_STARTS_MAX; i++)
        n += entry->starts_ms[i] > 0 && now_ms - entry->starts_ms[i] < POOL_WINDOW_MS;
    return n;
}

/* Total left for classes whose recent starts exceed their minimum. */
static size_t count_free(const struct pool_sizing *sizing)
{
    size_t n_least = 0;

    for (size_t i = 0; i < sizing->n; i++)
        n_least += sizing->entries[i].least;
    return sizing->most > n_least ? sizing->most - n_least : 0;
}

void pool_sizing_plan(const struct pool_sizing *sizing, int64_t now_ms,
                      size_t wanted_out[POOL_CLASSES_MAX])
{
    size_t left = count_free(sizing);

    for (size_t i = 0; i < POOL_CLASSES_MAX; i++) {
        const struct pool_class_starts *entry = &sizing->entries[i];
        size_t recent = i < sizing->n ? count_recent(entry, now_ms) : 0;
        size_t least = i < sizing->n ? entry->least : 0;
        size_t more = recent > least ? recent - least : 0;

        if (more > left)
            more = left;
        wanted_out[i] = least + more;
        left -= more;
    }
}
