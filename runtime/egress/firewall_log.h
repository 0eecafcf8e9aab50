/*
 * An instance's own packet filter rules, before those that all instances share: they report packets
 * that are about to be refused to this process, and accept or refuse nothing.
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

/* An instance and the NFLOG group that receives its packets. */
struct rules_log {
    const char *tag; /* of the instance's bridges */
    uint16_t group;
};

/* Loads the rules, again if they exist, and ensures that traffic passes them first.
 * ERROR_UNAVAILABLE. */
int rules_log_apply(const struct rules_log *log, struct error *err) NONNULL MUST_CHECK;
/* Removes the rules, if they exist. */
void rules_log_remove(const char *tag) NONNULL;
/* Appends the input of iptables-restore. */
void rules_log_append_text(struct strbuf *out, const struct rules_log *log) NONNULL;
/* Ends a rule: reports matching packets, at a limited rate, with the reason. */
void rules_log_append_show(struct strbuf *out, const struct rules_log *log,
                           enum refusal_reason reason) NONNULL;

#endif
