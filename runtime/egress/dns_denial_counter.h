/*
 * Counts names that were not resolved for sandboxes, as denial_counter.h counts packets.
 *
 * Ownership: dns_denial_counter_done() releases the entries.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_DENIAL_COUNTER_H
#define DEFT_RUNTIME_EGRESS_DNS_DENIAL_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/egress_policy.h"

#define DNS_DENIAL_COUNTER_MAX 256

struct dns_denial {
    unsigned bridge_index;
    char name[EGRESS_NAME_BYTES];
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

struct dns_denial_counter {
    struct dns_denial *items;
    size_t n;
};

/* clang-format off */
#define DNS_DENIAL_COUNTER_INIT {NULL, 0}
/* clang-format on */

void dns_denial_counter_done(struct dns_denial_counter *counter);
/* Counts a name; if the counter is full, a new one is dropped. */
void dns_denial_counter_note(struct dns_denial_counter *counter, unsigned bridge_index,
                             const char *name, int64_t now_us) NONNULL;
void dns_denial_counter_merge(struct dns_denial_counter *counter,
                              const struct dns_denial_counter *other) NONNULL;

#endif
