/*
 * Runs that wait until their model's server is in order again. Such a run has no lease, no thread
 * and no run slot; it can be claimed when its next attempt is due, when anything was added to its
 * conversation, or when it is asked to stop.
 *
 * Ownership: everything is borrowed. Threading: no state; any thread.
 * Decision: docs/decisions/0105-outages-of-models.md
 */
#ifndef DEFT_STORE_CONVERSATION_OUTAGE_STORE_H
#define DEFT_STORE_CONVERSATION_OUTAGE_STORE_H

#include <stdint.h>

#include "base/attr.h"
#include "store/conversation/run_hold.h"

struct db;
struct error;
struct lease;
struct strbuf;
struct uuid;

struct outage_wait {
    const struct lease *lease; /* released */
    int64_t lasted_ms;         /* of the first wait: since the outage began */
    int64_t next_ms;           /* until the next attempt */
    int64_t n_waits;           /* with this one */
    int64_t asked_seq;         /* the newest event that the model was to read */
    const char *reason;        /* for the user, without secrets */
};

/*
 * Lets the run wait. Errors: ERROR_STALE when the lease is lost; ERROR_CANCELLED when the run was
 * asked to stop: stop_out says how ("pause", "interrupt").
 */
int outage_store_wait(struct db *db, const struct outage_wait *wait, char stop_out[STOP_WORD_BYTES],
                      struct error *err) NONNULL MUST_CHECK;

/*
 * Appends {"since", "next_attempt_at" (UTC, ISO 8601), "waits", "reason"} if that conversation's
 * run waits; else nothing.
 */
int outage_store_append_json(struct db *db, const struct uuid *conversation_id,
                             struct strbuf *json_out, struct error *err) NONNULL MUST_CHECK;

#endif
