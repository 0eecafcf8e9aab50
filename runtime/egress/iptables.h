/*
 * The iptables program, and what all our chains need of it.
 *
 * Threading: one thread at a time for the same chains.
 */
#ifndef DEFT_RUNTIME_EGRESS_IPTABLES_H
#define DEFT_RUNTIME_EGRESS_IPTABLES_H

#include "base/attr.h"

struct error;
struct strbuf;

/* A chain of ours that the packets of some bridges go through. */
struct iptables_chain {
    const char *table;
    const char *from;     /* where from: a chain of the kernel's or the engine's */
    const char *name;     /* "DEFT-OUT-" and the like, with a tag behind it */
    const char *in_front; /* jumps to chains that begin so come later; NULL: no matter */
};

/* Loads tables in one step each; other chains stay. */
int iptables_load(const char *text, struct error *err) NONNULL MUST_CHECK;
/* Sees to it that the chain of the instance with that tag is gone through, in its place. */
int iptables_jump(const struct iptables_chain *chain, const char *tag,
                  struct error *err) NONNULL MUST_CHECK;
/* Takes the jump away, and the chain; what is not there is no matter. */
void iptables_cut(const struct iptables_chain *chain, const char *tag) NONNULL;
/* Takes chains away that nobody jumps to any more: all whose name has that beginning and the tag.
 */
void iptables_sweep(const char *table, const char *beginning, const char *tag) NONNULL;

#endif
