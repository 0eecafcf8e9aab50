/*
 * The thread that brings what is to what should be: wishes in rows, containers without rows, rows
 * without containers, the packet filter, what is made ahead. It is told what changes, and looks at
 * everything each minute anyway.
 *
 * Ownership: reconciler_free() after its thread has ended.
 * Threading: reconciler_ask() and reconciler_tell() from any thread.
 */
#ifndef DEFT_RUNTIME_LIFECYCLE_RECONCILER_H
#define DEFT_RUNTIME_LIFECYCLE_RECONCILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/backend/backend.h"

struct reconciler;

enum { RECONCILER_NEWS_MAX = 256 };

/* What to look at, as bits. */
#define RECONCILE_WISHES 1U /* rows whose status is not what is desired */
#define RECONCILE_ALL 2U    /* rows against containers, leftovers */
#define RECONCILE_REFILL 4U /* what is made ahead */
#define RECONCILE_RULES 8U  /* the packet filter */
#define RECONCILE_REST 32U  /* who should rest */
/* What is made ahead, in a second: who has just got a sandbox wants the processor now. */
#define RECONCILE_REFILL_LATER 16U

struct reconciler *reconciler_new(void) MUST_CHECK;
void reconciler_free(struct reconciler *reconciler);
void reconciler_ask(struct reconciler *reconciler, unsigned what) NONNULL;
void reconciler_tell(struct reconciler *reconciler, const struct news *news) NONNULL;
void reconciler_stop(struct reconciler *reconciler) NONNULL;
bool reconciler_is_stopping(struct reconciler *reconciler) NONNULL MUST_CHECK;
/*
 * Waits until something is asked or told, or until then. What is asked, as bits; *n_out news, which
 * are the caller's now.
 */
unsigned reconciler_take(struct reconciler *reconciler, int64_t until_ms,
                         struct news news_out[RECONCILER_NEWS_MAX],
                         size_t *n_out) NONNULL MUST_CHECK;

#endif
