/*
 * Internal to the store: locks the row of a run that is about to give its lease back while it goes
 * on being wanted.
 */
#ifndef DEFT_STORE_CONVERSATION_RUN_HOLD_H
#define DEFT_STORE_CONVERSATION_RUN_HOLD_H

#include "base/attr.h"

struct db_tx;
struct error;
struct lease;

#define STOP_WORD_BYTES 16

/*
 * Locks the row until the end of the transaction: a stop request that comes later finds the run
 * waiting. Errors: ERROR_STALE when the lease is lost; ERROR_CANCELLED when the run was asked to
 * stop: stop_out says how ("pause", "interrupt").
 */
int run_hold(struct db_tx *tx, const struct lease *lease, char stop_out[STOP_WORD_BYTES],
             struct error *err) NONNULL MUST_CHECK;

#endif
