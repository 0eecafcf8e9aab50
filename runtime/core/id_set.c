#include "runtime/core/id_set.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

void id_set_done(struct id_set *set)
{
    mem_free(set->ids);
    *set = (struct id_set){.ids = NULL};
}

void id_set_add(struct id_set *set, const char *id)
{
    if (set->n == set->size) {
        set->size = set->size == 0 ? 16 : 2 * set->size;
        set->ids = mem_resize(set->ids, set->size * sizeof(set->ids[0]));
    }
    memset(set->ids[set->n], 0, RUNTIME_ID_BYTES);
    memcpy(set->ids[set->n], id, strnlen(id, RUNTIME_ID_BYTES - 1));
    set->n++;
}

bool id_set_has(const struct id_set *set, const char *id)
{
    for (size_t i = 0; i < set->n; i++) {
        if (text_equal(set->ids[i], id))
            return true;
    }
    return false;
}

void id_set_remove(struct id_set *set, const char *id)
{
    for (size_t i = 0; i < set->n; i++) {
        if (!text_equal(set->ids[i], id))
            continue;
        memmove(set->ids[i], set->ids[i + 1], (set->n - i - 1) * sizeof(set->ids[0]));
        set->n--;
        return;
    }
}
