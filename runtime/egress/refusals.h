/*
 * Sandboxes' refused connections: received from the kernel, counted, and stored with each sandbox's
 * row. If the kernel does not report them, the reason is kept instead.
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

/* Starts receiving, if possible. */
struct refusals *refusals_new(const struct runtime_settings *settings) NONNULL MUST_CHECK;
void refusals_free(struct refusals *refusals);
/* Runs until refusals_stop(). */
void refusals_run(struct service *service) NONNULL;
void refusals_stop(struct refusals *refusals) NONNULL;
/* Loads the logging rules, again if they exist. An error is logged once. */
void refusals_load_rules(struct refusals *refusals) NONNULL;
/* The NFLOG group in use; -1: none. */
int refusals_group(const struct refusals *refusals) NONNULL MUST_CHECK;
/* Counts a name that was not resolved for the sandbox of a bridge. */
void refusals_note_name(struct refusals *refusals, unsigned bridge_index, const char *name) NONNULL;
/* Stores all counted refusals. */
int refusals_flush(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAVAILABLE with a readable message if that runtime's refusals are not received. */
int refusals_check(struct refusals *refusals, const struct runtime *runtime,
                   struct error *err) NONNULL MUST_CHECK;

#endif
