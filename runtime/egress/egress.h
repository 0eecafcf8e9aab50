/*
 * Enforces each sandbox's egress policy. It is assigned before user code runs and enforced by the
 * packet filter; DNS queries go to the instance's resolver (dnsmasq_command.h), those of restricted
 * sandboxes to this process.
 *
 * Threading: any thread.
 * Decision: docs/decisions/0027-egress.md
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_H
#define DEFT_RUNTIME_EGRESS_EGRESS_H

#include "base/attr.h"

struct egress;
struct error;
struct runtime;
struct runtime_settings;
struct service;
struct strbuf;
struct uuid;

/* ERROR_INVALID names the setting. */
int egress_new(const struct runtime_settings *settings, struct egress **egress_out,
               struct error *err) NONNULL MUST_CHECK;
void egress_free(struct egress *egress);
void egress_stop(struct egress *egress) NONNULL;

/* ERROR_INVALID: the tenant's or user's policy is malformed; ERROR_UNAVAILABLE: not enforceable. */
int egress_check(struct service *service, const struct uuid *tenant_id, const struct uuid *owner_id,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * Applies the policy of its owner to the sandbox in that network; returns once it is enforced.
 * Appends to `policy` what the sandbox is told of it: `internet`, `none`, or `list` and the
 * destinations, separated by blanks.
 */
int egress_assign(struct service *service, const struct runtime *runtime, const char *network,
                  struct strbuf *policy, struct error *err) NONNULL MUST_CHECK;
/* Applies the database's policies to all sandboxes. ERROR_UNAVAILABLE: no sandbox may start. */
int egress_assign_all(struct service *service, struct error *err) NONNULL MUST_CHECK;

#endif
