/*
 * The reconciler's thread: reconciles rows with containers, makes networks and homes in advance,
 * loads packet filter rules and reaps idle sandboxes.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILE_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILE_H

#include "base/attr.h"

struct service;

/* The thread's body; returns after reconcile_queue_stop(). */
void reconcile_run(struct service *service) NONNULL;

#endif
