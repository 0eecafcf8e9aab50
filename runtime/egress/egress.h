/*
 * Where each sandbox may go, made so: it takes a seat before anybody's program runs in it, the
 * packet filter holds it to its policy, and its questions for names go to the instance's resolver
 * (resolver.h), or, of a sandbox that may not go everywhere, here.
 *
 * Threading: egress_run_loader() and egress_run_resolver() are bodies of threads of their own, of
 * the latter several; the others are for any thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_H
#define DEFT_RUNTIME_EGRESS_EGRESS_H

#include "base/attr.h"

struct egress;
struct error;
struct runtime;
struct runtime_settings;
struct service;
struct uuid;

/* ERROR_INVALID names the setting. */
int egress_new(const struct runtime_settings *settings, struct egress **egress_out,
               struct error *err) NONNULL MUST_CHECK;
void egress_free(struct egress *egress);
void egress_run_loader(struct service *service) NONNULL;
void egress_run_resolver(struct service *service) NONNULL;
void egress_stop(struct egress *egress) NONNULL;

/* ERROR_INVALID when what was set for a tenant or user cannot be read, or cannot be held to. */
int egress_check(struct service *service, const struct uuid *tenant_id, const struct uuid *owner_id,
                 struct error *err) NONNULL MUST_CHECK;
/* Holds the sandbox in that network to its policy; returns when it is held. */
int egress_seat(struct service *service, const struct runtime *runtime, const char *network,
                struct error *err) NONNULL MUST_CHECK;
/* Holds all to what the rows say now. ERROR_UNAVAILABLE: no sandbox may start. */
int egress_seat_all(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* Takes all rules of an instance away. */
void egress_remove_rules(const char *instance) NONNULL;

#endif
