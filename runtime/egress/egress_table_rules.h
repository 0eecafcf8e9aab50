/*
 * Generates the packet filter rules of a table of policies and assignments.
 *
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_TABLE_RULES_H
#define DEFT_RUNTIME_EGRESS_EGRESS_TABLE_RULES_H

#include <stdint.h>

#include "base/attr.h"

struct egress_table;
struct strbuf;

/* Chains in nat, followed by the tag: all DNS queries; those to private addresses. */
#define EGRESS_DNS_CHAIN "DEFT-DNS-"
#define EGRESS_NAMES_CHAIN "DEFT-NAMES-"

/* Parameters of the generated rules. */
struct egress_rules {
    const char *tag;
    uint16_t resolver_port; /* of the resolver for unrestricted sandboxes */
    uint16_t dns_port;      /* for restricted ones */
    int group;              /* of NFLOG; -1: refused packets are not logged */
};

/* Appends the input of iptables-restore. */
void egress_table_append_rules(const struct egress_table *table, const struct egress_rules *rules,
                               struct strbuf *out) NONNULL;

#endif
