/*
 * The host's packet filter for sandbox bridges (dsb…): the internet yes, the host, private and
 * link-local networks and other sandboxes no. Loaded whole in one step, so that there is never a
 * moment with half of it.
 *
 * Threading: rules_apply() from one thread.
 */
#ifndef DEFT_RUNTIME_RULES_H
#define DEFT_RUNTIME_RULES_H

#include "base/attr.h"

struct error;
struct strbuf;

/*
 * Loads the rules, again where they are already, and sees to it that traffic passes them first.
 * ERROR_UNAVAILABLE with the tool's words when that fails: then no sandbox may start.
 */
int rules_apply(struct error *err) NONNULL MUST_CHECK;
/* What iptables-restore is given; resolvers: name servers that may be asked, from resolv.conf. */
void rules_append_text(struct strbuf *out, const char *resolv_conf) NONNULL;

#endif
