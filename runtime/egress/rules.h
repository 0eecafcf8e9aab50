/*
 * The host's packet filter for sandbox bridges (dsb…): the internet yes, the host, private and
 * link-local networks and other sandboxes no. Loaded whole in one step, so that there is never a
 * moment with half of it.
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

/* Where no sandbox may go, and what is said of it. */
struct denied_range {
    const char *range;
    enum refusal_reason reason;
};
extern const struct denied_range rules_denied[];
extern const size_t rules_n_denied;

/*
 * Loads the rules, again where they are already, and sees to it that traffic passes them first.
 * ERROR_UNAVAILABLE with the tool's words when that fails: then no sandbox may start.
 */
int rules_apply(struct error *err) NONNULL MUST_CHECK;
/* What iptables-restore is given. */
void rules_append_text(struct strbuf *out) NONNULL;

#endif
