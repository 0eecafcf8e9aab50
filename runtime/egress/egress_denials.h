/*
 * Sandboxes' refused connections: received from the kernel, counted, and stored with each sandbox's
 * row. If the kernel does not report them, the reason is kept instead.
 *
 * Threading: egress_denials_run() is the body of a thread of its own; egress_denials_load_rules()
 * is the reconciler's; the others are for any thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_DENIALS_H
#define DEFT_RUNTIME_EGRESS_EGRESS_DENIALS_H

#include "base/attr.h"

struct denied_packet;
struct error;
struct egress_denials;
struct runtime;
struct runtime_settings;
struct service;

/* Starts receiving, if possible. */
struct egress_denials *
egress_denials_new(const struct runtime_settings *settings) NONNULL MUST_CHECK;
void egress_denials_free(struct egress_denials *denials);
/* Runs until egress_denials_stop(). */
void egress_denials_run(struct service *service) NONNULL;
void egress_denials_stop(struct egress_denials *denials) NONNULL;
/* Loads the logging rules, again if they exist. An error is logged once. */
void egress_denials_load_rules(struct egress_denials *denials) NONNULL;
/* The NFLOG group in use; -1: none. */
int egress_denials_group(const struct egress_denials *denials) NONNULL MUST_CHECK;
/* Counts a packet that was refused. */
void egress_denials_note_packet(struct egress_denials *denials,
                                const struct denied_packet *packet) NONNULL;
/* Counts a name that was not resolved for the sandbox of a bridge. */
void egress_denials_note_name(struct egress_denials *denials, unsigned bridge_index,
                              const char *name) NONNULL;
/* Stores all counted refusals. */
int egress_denials_flush(struct service *service, struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAVAILABLE with a readable message if that runtime's refusals are not received. */
int egress_denials_check(struct egress_denials *denials, const struct runtime *runtime,
                         struct error *err) NONNULL MUST_CHECK;

#endif
