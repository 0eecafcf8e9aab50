/*
 * Packet filter rules of the host for sandbox bridges (dsb…): allow the internet; refuse the host,
 * private and link-local networks and other sandboxes. Loaded atomically.
 *
 * Threading: rules_apply() from one thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_RULES_H
#define DEFT_RUNTIME_EGRESS_RULES_H

#include <stddef.h>

#include "base/attr.h"
#include "runtime/egress/tally.h"

struct error;
struct strbuf;

#define RULES_BRIDGES "dsb+"

/* A range that no sandbox may reach, and the reason reported for it. */
struct denied_range {
    const char *range;
    enum refusal_reason reason;
};
extern const struct denied_range rules_denied[];
extern const size_t rules_n_denied;

/*
 * Loads the rules, again if they exist, and ensures that traffic passes them first.
 * ERROR_UNAVAILABLE with the tool's message on failure: then no sandbox may start.
 */
int rules_apply(struct error *err) NONNULL MUST_CHECK;
/* Appends the input of iptables-restore. */
void rules_append_text(struct strbuf *out) NONNULL;

#endif
