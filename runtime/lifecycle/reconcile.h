/*
 * The reconciler's thread: rows against containers, what is made ahead, the packet filter, who
 * should rest.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILE_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILE_H

#include "base/attr.h"

struct service;

/* The thread's body; returns after reconciler_stop(). */
void reconciler_run(struct service *service) NONNULL;

#endif
