/*
 * Packet filter rules of the host for sandbox bridges (dsb…): allow the internet; refuse the host,
 * private and link-local networks and other sandboxes. Loaded atomically.
 *
 * Threading: firewall_apply() from one thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_FIREWALL_H
#define DEFT_RUNTIME_EGRESS_FIREWALL_H

#include <stddef.h>

#include "base/attr.h"
#include "runtime/egress/denial_counter.h"

struct error;
struct strbuf;

#define FIREWALL_BRIDGES "dsb+"

/* A range that no sandbox may reach, and the reason reported for it. */
struct denied_range {
    const char *range;
    enum denial_reason reason;
};
extern const struct denied_range firewall_denied[];
extern const size_t firewall_n_denied;

/*
 * Loads the rules, again if they exist, and ensures that traffic passes them first.
 * ERROR_UNAVAILABLE with the tool's message on failure: then no sandbox may start.
 */
int firewall_apply(struct error *err) NONNULL MUST_CHECK;
/* Appends the input of iptables-restore. */
void firewall_append_rules(struct strbuf *out) NONNULL;
/*
 * The number of the rule at which to insert the jump to the rules in a chain, listed as by
 * `iptables -S CHAIN`: after all jumps to chains of deft, since those of single instances must come
 * before the rules that refuse.
 */
size_t firewall_jump_number(const char *listed) NONNULL;

#endif
