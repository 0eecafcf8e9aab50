/*
 * One instance's own packet filter rules, in front of those that all instances share: they show
 * what is going to be refused to this process, and decide nothing.
 *
 * Threading: one thread at a time.
 */
#ifndef DEFT_RUNTIME_EGRESS_RULES_LOG_H
#define DEFT_RUNTIME_EGRESS_RULES_LOG_H

#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/tally.h"

struct error;
struct strbuf;

/* Whose, and which group of NFLOG hears it. */
struct rules_log {
    const char *tag; /* of the instance's bridges */
    uint16_t group;
};

/* Loads them again, and sees to it that traffic passes them first. ERROR_UNAVAILABLE. */
int rules_log_apply(const struct rules_log *log, struct error *err) NONNULL MUST_CHECK;
/* Takes them away; what is not there is no matter. */
void rules_log_remove(const char *tag) NONNULL;
/* What iptables-restore is given. */
void rules_log_append_text(struct strbuf *out, const struct rules_log *log) NONNULL;
/* Ends a rule that shows what it matches, some of it, with the reason. */
void rules_log_append_show(struct strbuf *out, const struct rules_log *log,
                           enum refusal_reason reason) NONNULL;

#endif
