/*
 * Waits for a change in the database: woken by hints, and polling each second, as a hint may be
 * lost.
 *
 *     CLEANUP(notify_wait_end) struct notify_wait wait = NOTIFY_WAIT_INIT;
 *     if (notify_wait_begin(db, &wait, err) < 0) …
 *     while (not there: db_tx_query(&wait.tx, …))
 *         if (notify_wait_sleep(&wait, deadline_ms, err) < 0) …
 *
 * Ownership: a wait holds a connection for its lifetime.
 * Threading: belongs to one thread. Only lib/store includes this.
 */
#ifndef DEFT_STORE_DB_NOTIFY_WAIT_H
#define DEFT_STORE_DB_NOTIFY_WAIT_H

#include <stdint.h>

#include "base/attr.h"
#include "store/db/db_query.h"

struct notify_wait {
    struct db_tx tx; /* outside a transaction: each statement sees what is committed by then */
};

/* clang-format off */
#define NOTIFY_WAIT_INIT {DB_TX_INIT}
/* clang-format on */

/* Listens to deft_events. */
int notify_wait_begin(struct db *db, struct notify_wait *wait,
                      struct error *err) NONNULL MUST_CHECK;
/*
 * Sleeps until a hint arrives, at most a second; ERROR_TIMEOUT after deadline_ms
 * (clock_monotonic_ms()).
 */
int notify_wait_sleep(struct notify_wait *wait, int64_t deadline_ms,
                      struct error *err) NONNULL MUST_CHECK;
void notify_wait_end(struct notify_wait *wait) NONNULL;

#endif
