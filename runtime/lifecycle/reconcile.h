/*
 * The reconciler's thread: reconciles rows with containers, refills spares, loads packet filter
 * rules and lets idle sandboxes rest.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILE_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILE_H

#include "base/attr.h"

struct service;

/* The thread's body; returns after reconciler_stop(). */
void reconciler_run(struct service *service) NONNULL;

#endif
