/*
 * Waits for a change in the database: woken by hints, and polling each second, as a hint may be
 * lost.
 *
 *     CLEANUP(watch_end) struct watch watch = WATCH_INIT;
 *     if (watch_begin(db, &watch, err) < 0) …
 *     while (not there: db_tx_query(&watch.tx, …))
 *         if (watch_wait(&watch, deadline_ms, err) < 0) …
 *
 * Ownership: a watch holds a connection for its lifetime.
 * Threading: belongs to one thread. Only lib/store includes this.
 */
#ifndef DEFT_STORE_DB_WATCH_H
#define DEFT_STORE_DB_WATCH_H

#include <stdint.h>

#include "base/attr.h"
#include "store/db/db_query.h"

struct watch {
    struct db_tx tx; /* outside a transaction: each statement sees what is committed by then */
};

/* clang-format off */
#define WATCH_INIT {DB_TX_INIT}
/* clang-format on */

/* Listens to deft_events. */
int watch_begin(struct db *db, struct watch *watch, struct error *err) NONNULL MUST_CHECK;
/*
 * Sleeps until a hint arrives, at most a second; ERROR_TIMEOUT after deadline_ms
 * (clock_monotonic_ms()).
 */
int watch_wait(struct watch *watch, int64_t deadline_ms, struct error *err) NONNULL MUST_CHECK;
void watch_end(struct watch *watch) NONNULL;

#endif
