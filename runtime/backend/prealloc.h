/*
 * Networks and homes (a home is a sandbox's pair of volumes) that are ready in advance, or handed
 * out but in no row yet. Those neither in a row nor here are leftovers.
 *
 * Ownership: names are copied.
 * Threading: any thread; the internal lock is never held during I/O.
 * Decision: docs/decisions/0011-sandboxes-made-ahead.md
 */
#ifndef DEFT_RUNTIME_BACKEND_PREALLOC_H
#define DEFT_RUNTIME_BACKEND_PREALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

#define PREALLOC_NAME_BYTES 64

enum prealloc_kind { PREALLOC_NETWORK, PREALLOC_HOME };

struct prealloc;

struct prealloc *prealloc_new(void) MUST_CHECK;
void prealloc_free(struct prealloc *prealloc);

/* Takes a ready one; false if there is none. It stays known until prealloc_forget(). */
bool prealloc_take(struct prealloc *prealloc, enum prealloc_kind kind,
                   char name_out[PREALLOC_NAME_BYTES]) NONNULL MUST_CHECK;
/* Adds one that was made for immediate use: known, not ready. */
void prealloc_add_used(struct prealloc *prealloc, enum prealloc_kind kind,
                       const char *name) NONNULL;
/* Makes one ready to be taken, whether known before or not. */
void prealloc_add_ready(struct prealloc *prealloc, enum prealloc_kind kind,
                        const char *name) NONNULL;
/* It is in a row now, or was removed. */
void prealloc_forget(struct prealloc *prealloc, enum prealloc_kind kind, const char *name) NONNULL;
bool prealloc_has(struct prealloc *prealloc, enum prealloc_kind kind,
                  const char *name) NONNULL MUST_CHECK;
size_t prealloc_n_ready(struct prealloc *prealloc, enum prealloc_kind kind) NONNULL MUST_CHECK;
/* Forgets all: the engine was replaced. */
void prealloc_clear(struct prealloc *prealloc) NONNULL;

#endif
