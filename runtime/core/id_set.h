/*
 * A small ordered set of runtimes' ids.
 *
 * Ownership: id_set_done() releases the ids.
 * Threading: none of its own.
 */
#ifndef DEFT_RUNTIME_CORE_ID_SET_H
#define DEFT_RUNTIME_CORE_ID_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

/* A runtime's id is 16 lower-case letters. */
#define RUNTIME_ID_BYTES 17

struct id_set {
    char (*ids)[RUNTIME_ID_BYTES];
    size_t n;
    size_t size;
};

void id_set_done(struct id_set *set) NONNULL;
/* Appends an id; an id that is in the set already would be in it twice. */
void id_set_add(struct id_set *set, const char *id) NONNULL;
bool id_set_has(const struct id_set *set, const char *id) NONNULL MUST_CHECK;
/* No-op if it is not in the set. */
void id_set_remove(struct id_set *set, const char *id) NONNULL;

#endif
