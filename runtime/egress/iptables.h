/*
 * Runs iptables; functions for chains of deft.
 *
 * Threading: one thread at a time for the same chains.
 */
#ifndef DEFT_RUNTIME_EGRESS_IPTABLES_H
#define DEFT_RUNTIME_EGRESS_IPTABLES_H

#include "base/attr.h"

struct error;
struct strbuf;

/* A chain of deft for packets of some bridges. */
struct iptables_chain {
    const char *table;
    const char *from;     /* the kernel's or engine's chain that jumps to it */
    const char *name;     /* such as "DEFT-OUT-", to be followed by a tag */
    const char *in_front; /* jumps to chains with this prefix must come later; NULL: any order */
};

/* Loads each table atomically; other chains are kept. */
int iptables_load(const char *text, struct error *err) NONNULL MUST_CHECK;
/* Ensures that `from` jumps to the chain with that tag, in the required order. */
int iptables_jump(const struct iptables_chain *chain, const char *tag,
                  struct error *err) NONNULL MUST_CHECK;
/* Removes the jump and the chain, if they exist. */
void iptables_cut(const struct iptables_chain *chain, const char *tag) NONNULL;
/* Removes all chains with that prefix and tag in their names; nothing may jump to them any more. */
void iptables_sweep(const char *table, const char *beginning, const char *tag) NONNULL;

#endif
