/*
 * Networks and homes (a home is a sandbox's pair of volumes) that are ready in advance, or handed
 * out but in no row yet. Those neither in a row nor here are leftovers.
 *
 * Ownership: names are copied.
 * Threading: any thread; the internal lock is never held during I/O.
 * Decision: docs/decisions/0011-sandboxes-made-ahead.md
 */
#ifndef DEFT_RUNTIME_BACKEND_SPARES_H
#define DEFT_RUNTIME_BACKEND_SPARES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

#define SPARE_NAME_BYTES 64

enum spare_kind { SPARE_NETWORK, SPARE_HOME };

struct spares;

struct spares *spares_new(void) MUST_CHECK;
void spares_free(struct spares *spares);

/* Takes a ready one; false if there is none. It stays known until spares_forget(). */
bool spares_take(struct spares *spares, enum spare_kind kind,
                 char name_out[SPARE_NAME_BYTES]) NONNULL MUST_CHECK;
/* Adds one that was made for immediate use: known, not ready. */
void spares_hold(struct spares *spares, enum spare_kind kind, const char *name) NONNULL;
/* Makes one ready to be taken, whether known before or not. */
void spares_give(struct spares *spares, enum spare_kind kind, const char *name) NONNULL;
/* It is in a row now, or was removed. */
void spares_forget(struct spares *spares, enum spare_kind kind, const char *name) NONNULL;
bool spares_knows(struct spares *spares, enum spare_kind kind, const char *name) NONNULL MUST_CHECK;
size_t spares_n_ready(struct spares *spares, enum spare_kind kind) NONNULL MUST_CHECK;
/* Forgets all: the engine was replaced. */
void spares_clear(struct spares *spares) NONNULL;

#endif
