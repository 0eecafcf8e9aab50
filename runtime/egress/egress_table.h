/*
 * Egress policies, the sandboxes they are assigned to, and recently resolved addresses of names.
 * egress_table_rules.h generates packet filter rules from it.
 *
 * Ownership: egress_table_done() releases all.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_TABLE_H
#define DEFT_RUNTIME_EGRESS_EGRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/bridge.h"
#include "runtime/egress/egress_policy.h"

struct error;
struct strbuf;

/* Maximum number of addresses kept; the least recently resolved one is replaced. */
#define EGRESS_KNOWN_MAX 4096
/* Time for which an address is kept: a client may reconnect to one that it resolved earlier. */
#define EGRESS_KNOWN_MS 3600000

/* The first one is the settings'. */
struct egress_table_policy {
    char *mode;
    char *list;
    struct egress_policy policy;
};

struct egress_assignment {
    char bridge[BRIDGE_NAME_BYTES];
    size_t policy;
};

struct egress_address {
    char name[EGRESS_NAME_BYTES];
    uint32_t address; /* in host order */
    int64_t seen_ms;  /* monotonic */
    bool is_loaded;   /* the packet filter has had its rules */
};

struct egress_table {
    struct egress_table_policy *policies;
    size_t n_policies;
    struct egress_assignment *assignments;
    size_t n_assignments;
    struct egress_address *known;
    size_t n_known;
};

void egress_table_done(struct egress_table *table);
/* The policy for these texts, added if new. ERROR_INVALID as egress_policy_parse(). */
int egress_table_policy(struct egress_table *table, const char *mode, const char *list,
                        size_t *policy_out, struct error *err) NONNULL MUST_CHECK;
/* Assigns a policy to a bridge; true if that changes anything. */
bool egress_table_assign(struct egress_table *table, const char *bridge, size_t policy) NONNULL;
void egress_table_unassign(struct egress_table *table, size_t assignment) NONNULL;
/* A bridge's policy, by default the settings'. Borrowed until the next change. */
const struct egress_policy *egress_table_find(const struct egress_table *table,
                                              const char *bridge) NONNULL MUST_CHECK;
/* Stores an address; true until its rules are loaded: they must be loaded again. */
bool egress_table_learn(struct egress_table *table, const char *name, uint32_t address,
                        int64_t now_ms) NONNULL;
/* Records that the rules of an address are loaded. */
void egress_table_confirm(struct egress_table *table, const char *name, uint32_t address) NONNULL;
/* Addresses of the name whose rules are loaded, seen since `since_ms` (monotonic), at most `max`.
 */
size_t egress_table_addresses(const struct egress_table *table, const char *name, int64_t since_ms,
                              uint32_t *addresses, size_t max) NONNULL MUST_CHECK;

#endif
