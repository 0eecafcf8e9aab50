/*
 * Hints of store functions: each that writes what other processes wait for queues its hints after
 * the commit, never before it and never inside the transaction. Only lib/store includes this.
 * Decision: docs/decisions/0005-hint-pump-on-main.md
 */
#ifndef DEFT_STORE_DB_DB_HINT_H
#define DEFT_STORE_DB_DB_HINT_H

#include <stdbool.h>

#include "base/attr.h"
#include "store/db/hints.h"

struct db;
struct error;

/*
 * Queues a hint of each kind (bit set of 1U << HINT_…) with that id; does nothing for a handle
 * without hints.
 */
void db_hint(const struct db *db, unsigned kinds, const char *id) NONNULL;
/*
 * True if the hints of a statement or commit with that outcome are due: it is committed, or its
 * answer was lost and it may be. rc: its result; err: only read after a failure.
 */
bool db_hint_is_due(int rc, const struct error *err) NONNULL MUST_CHECK;

#endif
