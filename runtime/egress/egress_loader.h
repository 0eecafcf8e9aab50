/*
 * Loads the packet filter rules that are generated from the table of policies and assignments. One
 * thread loads; one load may serve several requests.
 *
 * Threading: egress_loader_run() is a thread's body, until egress_stop(); the others are for any
 * thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_EGRESS_LOADER_H
#define DEFT_RUNTIME_EGRESS_EGRESS_LOADER_H

#include "base/attr.h"

struct egress;
struct error;
struct service;

void egress_loader_run(struct service *service) NONNULL;
/* Requests a load of the current rules and waits for it. */
int egress_load(struct egress *egress, struct error *err) NONNULL MUST_CHECK;
/* Removes all rules of an instance. */
void egress_remove_rules(const char *instance) NONNULL;

#endif
