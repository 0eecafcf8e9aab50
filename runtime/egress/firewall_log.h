/*
 * An instance's own packet filter rules, before those that all instances share: they report packets
 * that are about to be refused to this process, and accept or refuse nothing.
 *
 * Threading: one thread at a time.
 */
#ifndef DEFT_RUNTIME_EGRESS_FIREWALL_LOG_H
#define DEFT_RUNTIME_EGRESS_FIREWALL_LOG_H

#include <stdint.h>

#include "base/attr.h"
#include "runtime/egress/denial_counter.h"

struct error;
struct strbuf;

/* An instance and the NFLOG group that receives its packets. */
struct firewall_log {
    const char *tag; /* of the instance's bridges */
    uint16_t group;
};

/* Loads the rules, again if they exist, and ensures that traffic passes them first.
 * ERROR_UNAVAILABLE. */
int firewall_log_apply(const struct firewall_log *log, struct error *err) NONNULL MUST_CHECK;
/* Removes the rules, if they exist. */
void firewall_log_remove(const char *tag) NONNULL;
/* Appends the input of iptables-restore. */
void firewall_log_append_text(struct strbuf *out, const struct firewall_log *log) NONNULL;
/* Ends a rule: reports matching packets, at a limited rate, with the reason. */
void firewall_log_append_show(struct strbuf *out, const struct firewall_log *log,
                              enum denial_reason reason) NONNULL;

#endif
