/*
 * What sandboxes are refused on the network: heard from the kernel, counted, kept beside each
 * sandbox's row. Where the kernel does not tell, that is said instead.
 *
 * Threading: refusals_run() is the body of a thread of its own; refusals_load_rules() is the
 * reconciler's; the others are for any thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_REFUSALS_H
#define DEFT_RUNTIME_EGRESS_REFUSALS_H

#include "base/attr.h"

struct error;
struct refusals;
struct runtime;
struct runtime_settings;
struct service;

/* Hears from here on, where it can. */
struct refusals *refusals_new(const struct runtime_settings *settings) NONNULL MUST_CHECK;
void refusals_free(struct refusals *refusals);
/* Until refusals_stop(). */
void refusals_run(struct service *service) NONNULL;
void refusals_stop(struct refusals *refusals) NONNULL;
/* Has the kernel tell, again where it does already. What goes wrong is logged once. */
void refusals_load_rules(struct refusals *refusals) NONNULL;
/* The group of NFLOG that is heard; -1: none. */
int refusals_group(const struct refusals *refusals) NONNULL MUST_CHECK;
/* Counts a name that was not looked up for the sandbox behind a bridge. */
void refusals_note_name(struct refusals *refusals, unsigned bridge_index, const char *name) NONNULL;
/* Stores what was heard so far. */
int refusals_flush(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAVAILABLE in words when nothing is heard of that runtime. */
int refusals_check(struct refusals *refusals, const struct runtime *runtime,
                   struct error *err) NONNULL MUST_CHECK;

#endif
