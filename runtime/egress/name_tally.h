/*
 * Counts names that were not resolved for sandboxes, as tally.h counts packets.
 *
 * Ownership: name_tally_done() releases the entries.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_NAME_TALLY_H
#define DEFT_RUNTIME_EGRESS_NAME_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/egress_policy.h"

#define NAME_TALLY_MAX 256

struct name_entry {
    unsigned bridge_index;
    char name[EGRESS_NAME_BYTES];
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

struct name_tally {
    struct name_entry *items;
    size_t n;
};

/* clang-format off */
#define NAME_TALLY_INIT {NULL, 0}
/* clang-format on */

void name_tally_done(struct name_tally *tally);
/* Counts a name; if the tally is full, a new one is dropped. */
void name_tally_note(struct name_tally *tally, unsigned bridge_index, const char *name,
                     int64_t now_us) NONNULL;
void name_tally_merge(struct name_tally *tally, const struct name_tally *other) NONNULL;

#endif
